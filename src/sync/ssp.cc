// Stale-synchronous (Ho et al. 2013): gradients are applied as they come, and a worker begins a batch only
// when it is at most `staleness` batches ahead of the slowest live one. Clocks count from the batch of the
// first gradient. A worker that comes back neither waits nor is waited for until it is as near as the others:
// so all ranges count it by the same clock, and none holds a worker that another one waits for.
#include <algorithm>

#include "base/error.h"
#include "net/wire.h"
#include "sync/consistencies.h"

namespace hocket {
namespace {

// Beyond it, what a wire brought is no clock.
constexpr std::int64_t kMaxClock = std::int64_t{1} << 60;

bool is_clock(std::int64_t value) { return value >= 0 && value <= kMaxClock; }

struct SliceClock {
  std::int64_t clock = 0;  // Batches done.
  bool is_live = true;
  bool is_new = false;  // Came back and has not caught up.
};

class Ssp final : public Consistency {
 public:
  Ssp(int workers, std::int64_t staleness, double weight)
      : staleness_(staleness), weight_(weight), slices_(static_cast<std::size_t>(workers)) {}

  Verdict on_push(const Arrival& arrival, std::int64_t) override {
    SliceClock* slice = find(arrival.slice);
    if (slice == nullptr || !is_clock(arrival.clock)) return {{}, {arrival.serial}};
    if (!has_begun_) begin_at(arrival.clock);
    if (slice->is_new) {
      slice->clock = arrival.clock + 1;
      slice->is_new = slowest(slice->clock) - slice->clock > staleness_;
    }
    slice->clock = std::max(slice->clock, arrival.clock + 1);
    return {{{arrival.serial, weight_}}, {}};
  }

  Verdict on_worker_lost(int worker, std::int64_t) override {
    if (SliceClock* slice = find(worker)) slice->is_live = false;
    return {};
  }
  void on_worker_joined(int worker) override {
    SliceClock* slice = find(worker);
    if (slice == nullptr || slice->is_live) return;
    slice->is_live = true;
    slice->is_new = has_begun_;
  }

  bool may_read(int worker, std::int64_t clock, std::int64_t) const override {
    if (!has_begun_ || staleness_ == Discipline::kUnbounded) return true;
    const auto at = static_cast<std::size_t>(worker);
    if (worker < 0 || at >= slices_.size() || slices_[at].is_new) return true;
    if (!is_clock(clock)) return false;
    return clock - slowest(clock) <= staleness_;
  }

  std::vector<std::byte> save() const override {
    WireWriter out;
    out.put(static_cast<std::uint8_t>(has_begun_));
    for (const SliceClock& slice : slices_) {
      out.put(slice.clock);
      out.put(static_cast<std::uint8_t>(slice.is_live));
      out.put(static_cast<std::uint8_t>(slice.is_new));
    }
    return out.take();
  }

  void restore(std::span<const std::byte> bytes) override {
    WireReader in(bytes);
    const auto has_begun = in.get<std::uint8_t>();
    std::vector<SliceClock> slices(slices_.size());
    bool is_sane = has_begun <= 1;
    for (SliceClock& slice : slices) {
      slice.clock = in.get<std::int64_t>();
      const auto is_live = in.get<std::uint8_t>();
      const auto is_new = in.get<std::uint8_t>();
      slice.is_live = is_live != 0;
      slice.is_new = is_new != 0;
      is_sane = is_sane && is_clock(slice.clock) && is_live <= 1 && is_new <= 1;
    }
    if (!is_sane || !in.is_good() || !in.is_at_end())
      throw NetError("the state of ps:ssp for {} workers is malformed ({} bytes)", slices_.size(),
                     bytes.size());
    has_begun_ = has_begun != 0;
    slices_ = std::move(slices);
  }

 private:
  SliceClock* find(int slice) {
    const auto at = static_cast<std::size_t>(slice);
    return slice >= 0 && at < slices_.size() ? &slices_[at] : nullptr;
  }

  void begin_at(std::int64_t clock) {
    has_begun_ = true;
    for (SliceClock& slice : slices_) slice.clock = clock;
  }

  // The least clock of the live slices; `otherwise` where there are none.
  std::int64_t slowest(std::int64_t otherwise) const {
    std::int64_t least = Discipline::kUnbounded;
    for (const SliceClock& slice : slices_) {
      if (slice.is_live && !slice.is_new) least = std::min(least, slice.clock);
    }
    return least == Discipline::kUnbounded ? otherwise : least;
  }

  std::int64_t staleness_;
  double weight_;
  std::vector<SliceClock> slices_;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<Consistency> make_ssp(int workers, std::int64_t staleness, double weight) {
  return std::make_unique<Ssp>(workers, staleness, weight);
}

}  // namespace hocket
