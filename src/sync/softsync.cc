// n-softsync (Zhang et al. 2016): every ⌊P/n⌋ gradients, of whichever workers, make one update with the mean
// of what each worker computed; with the staleness-aware rate each is divided by its staleness, the number of
// updates since the values it was computed from.
#include <algorithm>

#include "base/error.h"
#include "net/wire.h"
#include "sync/consistencies.h"

namespace hocket {
namespace {

class SoftSync final : public Consistency {
 public:
  SoftSync(int workers, int splits, Discipline::Rate rate)
      : count_(static_cast<std::size_t>(std::max(1, workers / splits))),
        weight_(static_cast<double>(workers) / static_cast<double>(count_)),
        rate_(rate) {}

  Verdict on_push(const Arrival& arrival, std::int64_t version) override {
    waiting_.push_back({arrival.serial, std::max<std::int64_t>(0, arrival.version)});
    if (waiting_.size() < count_) return {};
    Verdict verdict;
    verdict.update.reserve(count_);
    for (const Waiting& gradient : waiting_)
      verdict.update.push_back({gradient.serial, weight_of(version - gradient.version)});
    waiting_.clear();
    return verdict;
  }

  bool may_read(int, std::int64_t, std::int64_t) const override { return true; }

  std::vector<std::byte> save() const override {
    WireWriter out;
    out.put(static_cast<std::uint32_t>(waiting_.size()));
    for (const Waiting& gradient : waiting_) {
      out.put(gradient.serial);
      out.put(gradient.version);
    }
    return out.take();
  }

  void restore(std::span<const std::byte> bytes) override {
    WireReader in(bytes);
    const auto count = in.get<std::uint32_t>();
    std::vector<Waiting> waiting;
    for (std::uint32_t i = 0; i < count && in.is_good(); ++i) {
      const auto serial = in.get<std::int64_t>();
      waiting.push_back({serial, std::max<std::int64_t>(0, in.get<std::int64_t>())});
    }
    if (count >= count_ || !in.is_good() || !in.is_at_end())
      throw NetError("the state of ps:softsync with {} gradients an update is malformed ({} bytes)", count_,
                     bytes.size());
    waiting_ = std::move(waiting);
  }

 private:
  struct Waiting {
    std::int64_t serial;
    std::int64_t version;
  };

  double weight_of(std::int64_t staleness) const {
    if (rate_ == Discipline::Rate::fixed) return weight_;
    return weight_ / static_cast<double>(std::max<std::int64_t>(1, staleness));
  }

  std::size_t count_;
  double weight_;
  Discipline::Rate rate_;
  std::vector<Waiting> waiting_;
};

}  // namespace

std::unique_ptr<Consistency> make_softsync(int workers, int splits, Discipline::Rate rate) {
  return std::make_unique<SoftSync>(workers, splits, rate);
}

}  // namespace hocket
