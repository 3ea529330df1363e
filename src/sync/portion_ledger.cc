#include "sync/portion_ledger.h"

#include <algorithm>

namespace hocket {

std::optional<int> PortionLedger::take(int worker) {
  std::size_t best = portions_.size();
  for (std::size_t i = 0; i < portions_.size(); ++i) {
    const Portion& portion = portions_[i];
    const auto& holders = portion.holders;
    if (portion.value || holders.size() >= kMaxHolders) continue;
    if (std::find(holders.begin(), holders.end(), worker) != holders.end()) continue;
    if (best == portions_.size() || holders.size() < portions_[best].holders.size()) best = i;
  }
  if (best == portions_.size()) return std::nullopt;
  if (!portions_[best].holders.empty()) ++backups_;
  portions_[best].holders.push_back(worker);
  return static_cast<int>(best);
}

void PortionLedger::finish(int worker, int portion, double value) {
  Portion& entry = portions_.at(static_cast<std::size_t>(portion));
  std::erase(entry.holders, worker);
  if (entry.value) return;
  entry.value = value;
  ++finished_;
}

void PortionLedger::release(int worker) {
  for (Portion& portion : portions_) std::erase(portion.holders, worker);
}

double PortionLedger::total() const {
  double sum = 0;
  for (const Portion& portion : portions_) sum += portion.value.value_or(0);
  return sum;
}

}  // namespace hocket
