// One pass over memory an update: block by block, small enough for a first-level cache, the gradients are
// summed and the optimizer's kernel takes the sum while it is there.
#include "ps/dense_store.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "net/wire.h"
#include "nn/update_spec.h"
#include "ps/weighted_sum.h"
#include "tensor/arena.h"
#include "tensor/kernels/update.h"
#include "tensor/reference/update.h"

namespace hocket {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{16} << 10;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

// Neighbouring segments that are updated alike, with kernels for its blocks and for what is left.
struct Piece {
  Segment segment;
  std::unique_ptr<Kernel> block, tail;  // None for sums.
};

bool are_alike(const Segment& a, const Segment& b) { return a.decay == b.decay && a.is_sum == b.is_sum; }

std::int64_t count_of(const RangeSpec& spec) {
  std::int64_t count = 0;
  for (const Segment& segment : spec.segments) {
    const bool fits = segment.begin == count && segment.count >= 0 && segment.count <= kMaxElements - count;
    if (!fits || !std::isfinite(segment.decay))
      throw NetError("segment [{}, +{}) does not follow the {} elements before it", segment.begin,
                     segment.count, count);
    count += segment.count;
  }
  return count;
}

std::unique_ptr<Kernel> make_kernel_for(UpdateSpec spec, std::int64_t count, double decay) {
  if (count == 0) return nullptr;
  spec.count = count;
  spec.decay = decay;
  std::unique_ptr<Kernel> fast = kernel::make_update(spec);
  return fast ? std::move(fast) : reference::make_update(spec);
}

class DenseStore final : public Store {
 public:
  explicit DenseStore(const Init& init)
      : update_(update_spec_of(init.spec.optimizer)),
        element_(size_of(init.spec.dtype)),
        count_(static_cast<std::size_t>(count_of(init.spec))),
        slots_(static_cast<std::size_t>(update_.slots())),
        stride_(align_up(count_ * element_)),
        sum_(init.spec.dtype) {
    update_.dtype = init.spec.dtype;
    require_size(init.values.bytes.size(), value_bytes(), "values");
    require_size(init.state.bytes.size(), state_bytes(), "optimizer state");
    make_pieces(init.spec.segments);
    memory_ = Arena(stride_ * (1 + slots_));
    room_ = Arena(kBlockBytes);
    take(init.values.bytes, init.state.bytes);
  }

  bool fits(const Push& push) const override {
    return push.ids.bytes.empty() && push.values.bytes.size() == value_bytes();
  }

  void apply(std::span<const WeightedPush> terms, const Hyper& hyper) override {
    sum_.set_terms(terms);
    std::array<double, 4> numbers{hyper.learning_rate, hyper.bias_correction1, hyper.bias_correction2,
                                  hyper.divisor / sum_.common_weight()};
    const auto block = static_cast<std::int64_t>(kBlockBytes / element_);
    for (const Piece& piece : pieces_) {
      const std::int64_t end = piece.segment.begin + piece.segment.count;
      for (std::int64_t at = piece.segment.begin; at < end; at += block)
        update(piece, static_cast<std::size_t>(at), static_cast<std::size_t>(std::min(block, end - at)),
               numbers.data());
    }
  }

  Payload read(const Payload&) override { return {memory_.bytes().first(value_bytes()), nullptr}; }

  Payload state(const Payload&) override {
    std::vector<std::byte> bytes(state_bytes());
    for (std::size_t i = 0; i < slots_; ++i) copy_bytes(slot(i), bytes.data() + i * value_bytes());
    return Payload::copy_of(bytes);
  }

  std::vector<std::byte> save() const override {
    WireWriter out;
    out.put(static_cast<std::uint8_t>(update_.dtype));
    out.put(static_cast<std::uint8_t>(slots_));
    out.put(static_cast<std::uint64_t>(count_));
    for (std::size_t i = 0; i <= slots_; ++i) out.put_bytes({memory_.data() + i * stride_, value_bytes()});
    return out.take();
  }

  void restore(std::span<const std::byte> bytes) override {
    WireReader in(bytes);
    const bool is_same = in.get<std::uint8_t>() == static_cast<std::uint8_t>(update_.dtype) &&
                         in.get<std::uint8_t>() == slots_ && in.get<std::uint64_t>() == count_;
    const auto values = in.get_bytes(value_bytes());
    const auto state = in.get_bytes(state_bytes());
    if (!is_same || !in.is_good() || !in.is_at_end())
      throw NetError("{} bytes are no saved range of {} {} with {} slots", bytes.size(), count_,
                     name_of(update_.dtype), slots_);
    take(values, state);
  }

 private:
  std::size_t value_bytes() const { return count_ * element_; }
  std::size_t state_bytes() const { return slots_ * value_bytes(); }
  std::byte* slot(std::size_t i) const { return memory_.data() + (1 + i) * stride_; }
  void copy_bytes(const std::byte* from, std::byte* to) const {
    if (count_ > 0) std::memcpy(to, from, value_bytes());
  }

  static void require_size(std::size_t found, std::size_t expected, std::string_view what) {
    if (found != 0 && found != expected)
      throw NetError("{} of a range have {} bytes, expected {}", what, found, expected);
  }

  void make_pieces(const std::vector<Segment>& segments) {
    for (const Segment& segment : segments) {
      if (!pieces_.empty() && are_alike(pieces_.back().segment, segment)) {
        pieces_.back().segment.count += segment.count;
      } else {
        pieces_.push_back({segment, nullptr, nullptr});
      }
    }
    const auto block = static_cast<std::int64_t>(kBlockBytes / element_);
    for (Piece& piece : pieces_) {
      if (piece.segment.is_sum) continue;
      piece.block = make_kernel_for(update_, std::min(block, piece.segment.count), piece.segment.decay);
      piece.tail = make_kernel_for(update_, piece.segment.count % block, piece.segment.decay);
    }
  }

  void take(std::span<const std::byte> values, std::span<const std::byte> state) {
    if (!values.empty()) copy_bytes(values.data(), memory_.data());
    for (std::size_t i = 0; i < slots_ && !state.empty(); ++i)
      copy_bytes(state.data() + i * value_bytes(), slot(i));
  }

  void update(const Piece& piece, std::size_t at, std::size_t count, double* hyper) {
    const std::byte* sum = sum_.sum(at, count, room_.data());
    const std::size_t offset = at * element_;
    if (piece.segment.is_sum)
      return add_scaled(update_.dtype, sum_.common_weight(), sum, memory_.data() + offset, count);
    std::array<std::byte*, 5> in{memory_.data() + offset, const_cast<std::byte*>(sum),
                                 reinterpret_cast<std::byte*>(hyper)};
    for (std::size_t i = 0; i < slots_; ++i) in[3 + i] = slot(i) + offset;
    const bool is_block = count == kBlockBytes / element_ || piece.tail == nullptr;
    (is_block ? piece.block : piece.tail)->run(std::span(in).first(3 + slots_), {}, nullptr);
  }

  UpdateSpec update_;
  std::size_t element_, count_, slots_, stride_;  // Stride: bytes from one of values and slots to the next.
  WeightedSum sum_;
  std::vector<Piece> pieces_;
  Arena memory_;
  Arena room_;  // For the sum of a block.
};

}  // namespace

std::unique_ptr<Store> make_dense_store(const Init& init) { return std::make_unique<DenseStore>(init); }

}  // namespace hocket
