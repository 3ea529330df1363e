#include "tensor/kernels/row_groups.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hocket::kernel {
namespace {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

// One pass of a radix sort: moves keys to `sorted` by the digit at `shift`, keeping the order of equals.
void sort_by_digit(const std::uint64_t* keys, std::int64_t count, int shift, std::uint64_t* sorted) {
  std::array<std::int64_t, kDigits> start{};
  const auto digit = [shift](std::uint64_t key) {
    return static_cast<std::size_t>(key >> shift) & (kDigits - 1);
  };
  for (std::int64_t i = 0; i < count; ++i) ++start[digit(keys[i])];
  std::int64_t sum = 0;
  for (std::int64_t& entry : start) sum += std::exchange(entry, sum);
  for (std::int64_t i = 0; i < count; ++i) sorted[start[digit(keys[i])]++] = keys[i];
}

}  // namespace

RowGroups::RowGroups(const std::int32_t* ids, std::int64_t count, std::int64_t bound, std::byte* memory) {
  auto* keys = reinterpret_cast<std::uint64_t*>(memory);
  std::uint64_t* other = keys + count;
  for (std::int64_t i = 0; i < count; ++i) {
    if (ids[i] < 0 || ids[i] >= bound) continue;
    keys[count_++] = static_cast<std::uint64_t>(ids[i]) << 32 | static_cast<std::uint64_t>(i);
  }
  for (int bit = 0; bit < 31 && (bound - 1) >> bit > 0; bit += kDigitBits) {
    sort_by_digit(keys, count_, 32 + bit, other);
    std::swap(keys, other);
  }
  keys_ = keys;
}

}  // namespace hocket::kernel
