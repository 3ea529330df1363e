#include "cli/bench/step_rows.h"

#include <algorithm>

namespace hocket {
namespace {

Spread ratio_of(const StepRow& one, const StepRow& other, double scale) {
  std::vector<double> ratios;
  ratios.reserve(one.samples.size());
  for (std::size_t i = 0; i < one.samples.size(); ++i) {
    ratios.push_back(scale * one.samples[i] / other.samples[i]);
  }
  return spread_of(std::move(ratios));
}

}  // namespace

const StepRow* find_beside(std::span<const StepRow> rows, const StepRow& row, int workers,
                           std::string_view peer) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const StepRow& other) {
    return other.model == row.model && other.threads == row.threads && other.workers == workers &&
           other.peer == peer;
  });
  return at == rows.end() ? nullptr : &*at;
}

Spread paired_ratio(const StepRow& ours, const StepRow& theirs) { return ratio_of(ours, theirs, 1); }

std::optional<Spread> scaling_efficiency(std::span<const StepRow> rows, const StepRow& row) {
  if (row.workers == 1) return std::nullopt;
  const StepRow* alone = find_beside(rows, row, 1, row.peer == "torch-ddp" ? "torch-best" : "hocket");
  if (alone == nullptr) return std::nullopt;
  return ratio_of(row, *alone, 1.0 / row.workers);
}

}  // namespace hocket
