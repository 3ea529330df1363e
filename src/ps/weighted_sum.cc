#include "ps/weighted_sum.h"

#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "tensor/fold.h"

namespace hocket {
namespace {

bool is_aligned(const std::byte* memory, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
}

template <typename T>
void add_scaled_to(double factor, const std::byte* x, std::byte* y, std::size_t count) {
  const auto f = static_cast<T>(factor);
  const T* from = reinterpret_cast<const T*>(x);
  T* to = reinterpret_cast<T*>(y);
  for (std::size_t i = 0; i < count; ++i) to[i] += f * from[i];
}

}  // namespace

void WeightedSum::set_terms(std::span<const WeightedPush> terms) {
  HOCKET_CHECK(!terms.empty(), "an update without gradients");
  sources_.clear();
  weights_.clear();
  realigned_.clear();
  realigned_.reserve(terms.size());
  is_even_ = true;
  for (const WeightedPush& term : terms) {
    std::span<const std::byte> bytes = term.push->values.bytes;
    if (!is_aligned(bytes.data(), size_of(dtype_)))
      bytes = realigned_.emplace_back(bytes.begin(), bytes.end());
    sources_.push_back(bytes.data());
    weights_.push_back(term.weight);
    is_even_ = is_even_ && term.weight == terms.front().weight;
  }
}

const std::byte* WeightedSum::sum(std::size_t begin, std::size_t count, std::byte* room) {
  const std::size_t offset = begin * size_of(dtype_);
  at_.clear();
  for (const std::byte* source : sources_) at_.push_back(source + offset);
  if (is_even_ && at_.size() == 1) return at_.front();
  if (is_even_) {
    std::byte* const destinations[] = {room};
    fold(Fold::sum, dtype_, at_, destinations, count);
    return room;
  }
  std::memset(room, 0, count * size_of(dtype_));
  for (std::size_t i = 0; i < at_.size(); ++i) add_scaled(dtype_, weights_[i], at_[i], room, count);
  return room;
}

void add_scaled(DType dtype, double factor, const std::byte* x, std::byte* y, std::size_t count) {
  if (dtype == DType::f64) return add_scaled_to<double>(factor, x, y, count);
  add_scaled_to<float>(factor, x, y, count);
}

}  // namespace hocket
