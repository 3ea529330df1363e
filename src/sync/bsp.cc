// Bulk-synchronous: batch by batch, one update from the gradients of all its slices. A lost worker changes
// nothing here, since others compute its slices; what comes twice because of that is dropped.
#include <map>

#include "base/error.h"
#include "net/wire.h"
#include "sync/consistencies.h"

namespace hocket {
namespace {

constexpr std::int64_t kNone = -1;

class Bsp final : public Consistency {
 public:
  explicit Bsp(int workers) : workers_(static_cast<std::size_t>(workers)) {}

  Verdict on_push(const Arrival& arrival, std::int64_t version) override {
    const auto slice = static_cast<std::size_t>(arrival.slice);
    if (arrival.slice < 0 || slice >= workers_ || arrival.clock < version) return {{}, {arrival.serial}};
    std::vector<std::int64_t>& batch = slots_of(arrival.clock);
    if (batch[slice] != kNone) return {{}, {arrival.serial}};
    batch[slice] = arrival.serial;
    return update_of(version);
  }

  bool update_is_batch() const override { return true; }
  bool may_read(int, std::int64_t clock, std::int64_t version) const override { return version >= clock; }

  std::vector<std::byte> save() const override {
    WireWriter out;
    out.put(static_cast<std::uint32_t>(batches_.size()));
    for (const auto& [clock, serials] : batches_) {
      out.put(clock);
      for (const std::int64_t serial : serials) out.put(serial);
    }
    return out.take();
  }

  void restore(std::span<const std::byte> bytes) override {
    WireReader in(bytes);
    std::map<std::int64_t, std::vector<std::int64_t>> batches;
    const auto count = in.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && in.is_good(); ++i) {
      std::vector<std::int64_t>& serials = batches[in.get<std::int64_t>()];
      serials.assign(workers_, kNone);
      for (std::int64_t& serial : serials) serial = in.get<std::int64_t>();
    }
    if (!in.is_good() || !in.is_at_end() || batches.size() != count)
      throw NetError("the state of ps:bsp for {} workers is malformed ({} bytes)", workers_, bytes.size());
    batches_ = std::move(batches);
  }

 private:
  std::vector<std::int64_t>& slots_of(std::int64_t clock) {
    return batches_.try_emplace(clock, workers_, kNone).first->second;
  }

  Verdict update_of(std::int64_t version) {
    const auto batch = batches_.find(version);
    if (batch == batches_.end()) return {};
    Verdict verdict;
    verdict.update.reserve(workers_);
    for (const std::int64_t serial : batch->second) {
      if (serial == kNone) return {};
      verdict.update.push_back({serial, 1});
    }
    batches_.erase(batch);
    return verdict;
  }

  std::size_t workers_;
  std::map<std::int64_t, std::vector<std::int64_t>> batches_;  // By clock, then slice: who waits.
};

}  // namespace

std::unique_ptr<Consistency> make_bsp(int workers) { return std::make_unique<Bsp>(workers); }

}  // namespace hocket
