// Partial synchrony (backup workers, Chen et al. 2016): an update as soon as `quorum` slices have a gradient
// for the batch, or all that are live if those are fewer. Gradients for a batch that is over are late:
// dropped, or merged into the next update behind its own.
#include <algorithm>

#include "base/error.h"
#include "net/wire.h"
#include "sync/consistencies.h"

namespace hocket {
namespace {

constexpr std::int64_t kNobody = -1;

class KOfN final : public Consistency {
 public:
  KOfN(int workers, int quorum, Discipline::Late late)
      : quorum_(quorum),
        late_(late),
        waiting_(static_cast<std::size_t>(workers), kNobody),
        is_live_(static_cast<std::size_t>(workers), 1) {}

  Verdict on_push(const Arrival& arrival, std::int64_t version) override {
    const auto slice = static_cast<std::size_t>(arrival.slice);
    if (arrival.slice < 0 || slice >= waiting_.size()) return {{}, {arrival.serial}};
    if (arrival.clock < version) {
      if (late_ == Discipline::Late::drop) return {{}, {arrival.serial}};
      merged_.push_back(arrival.serial);
      return {};
    }
    if (waiting_[slice] != kNobody) return {{}, {arrival.serial}};
    waiting_[slice] = arrival.serial;
    return update_if_enough();
  }

  Verdict on_worker_lost(int worker, std::int64_t) override {
    set_live(worker, false);
    return update_if_enough();
  }
  void on_worker_joined(int worker) override { set_live(worker, true); }

  bool update_is_batch() const override { return true; }
  bool may_read(int, std::int64_t clock, std::int64_t version) const override { return version >= clock; }

  std::vector<std::byte> save() const override {
    WireWriter out;
    for (const std::int64_t serial : waiting_) out.put(serial);
    for (const std::uint8_t is_live : is_live_) out.put(is_live);
    out.put(static_cast<std::uint32_t>(merged_.size()));
    for (const std::int64_t serial : merged_) out.put(serial);
    return out.take();
  }

  void restore(std::span<const std::byte> bytes) override {
    WireReader in(bytes);
    std::vector<std::int64_t> waiting(waiting_.size());
    std::vector<std::uint8_t> is_live(is_live_.size());
    std::vector<std::int64_t> merged;
    for (std::int64_t& serial : waiting) serial = in.get<std::int64_t>();
    for (std::uint8_t& flag : is_live) flag = in.get<std::uint8_t>();
    const auto count = in.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && in.is_good(); ++i) merged.push_back(in.get<std::int64_t>());
    const bool is_sane =
        std::all_of(is_live.begin(), is_live.end(), [](std::uint8_t flag) { return flag <= 1; });
    if (!is_sane || !in.is_good() || !in.is_at_end())
      throw NetError("the state of ps:kofn for {} workers is malformed ({} bytes)", waiting_.size(),
                     bytes.size());
    waiting_ = std::move(waiting);
    is_live_ = std::move(is_live);
    merged_ = std::move(merged);
  }

 private:
  void set_live(int worker, bool is_live) {
    const auto at = static_cast<std::size_t>(worker);
    if (worker >= 0 && at < is_live_.size()) is_live_[at] = is_live ? 1 : 0;
  }

  Verdict update_if_enough() {
    const auto live = std::count(is_live_.begin(), is_live_.end(), 1);
    const auto there =
        static_cast<std::ptrdiff_t>(waiting_.size()) - std::count(waiting_.begin(), waiting_.end(), kNobody);
    if (there == 0 || there < std::min<std::ptrdiff_t>(quorum_, live)) return {};

    const double weight = static_cast<double>(waiting_.size()) /
                          static_cast<double>(there + static_cast<std::ptrdiff_t>(merged_.size()));
    Verdict verdict;
    for (std::int64_t& serial : waiting_) {
      if (serial != kNobody) verdict.update.push_back({serial, weight});
      serial = kNobody;
    }
    for (const std::int64_t serial : merged_) verdict.update.push_back({serial, weight});
    merged_.clear();
    return verdict;
  }

  std::ptrdiff_t quorum_;
  Discipline::Late late_;
  std::vector<std::int64_t> waiting_;  // By slice.
  std::vector<std::uint8_t> is_live_;  // By worker.
  std::vector<std::int64_t> merged_;   // Late ones for the next update.
};

}  // namespace

std::unique_ptr<Consistency> make_kofn(int workers, int quorum, Discipline::Late late) {
  return std::make_unique<KOfN>(workers, quorum, late);
}

}  // namespace hocket
