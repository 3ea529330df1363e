#include "tensor/fold.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tensor/kernels/simd_targets.h"

// Tells GCC that iterations of the loop that follows do not depend on each other; clang checks that when it
// runs.
#if defined(__clang__)
#define HOCKET_NO_ALIAS
#else
#define HOCKET_NO_ALIAS _Pragma("GCC ivdep")
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/fold.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target: the plain loops below become its vector code.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hocket {
namespace HWY_NAMESPACE {

// Half of a first-level cache's worth of operands at a time: a tile is folded there, then stored to all
// destinations.
constexpr std::size_t kTile = 1024;

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

struct Sum {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Product {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a * b);
  }
};
struct Max {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <typename T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

// Integers wrap around, as every other sum of them here: the unsigned type has that defined.
template <typename T>
using Arithmetic = std::conditional_t<std::is_same_v<T, std::int32_t>, std::uint32_t,
                                      std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, T>>;

template <typename T, typename Operation>
T combine(Operation operation, T a, T b) {
  if constexpr (kIsHalf<T>) {
    return T(operation(static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (std::is_same_v<Operation, Sum> || std::is_same_v<Operation, Product>) {
    return static_cast<T>(operation(static_cast<Arithmetic<T>>(a), static_cast<Arithmetic<T>>(b)));
  } else {
    return operation(a, b);
  }
}

template <typename T, typename Operation>
void fold_two(Operation operation, const T* a, const T* b, T* out, std::size_t n) {
  HOCKET_NO_ALIAS
  for (std::size_t i = 0; i < n; ++i) out[i] = combine(operation, a[i], b[i]);
}

template <typename T, typename Operation>
void fold_two_to_two(Operation operation, const T* a, const T* b, T* out, T* also, std::size_t n) {
  HOCKET_NO_ALIAS
  for (std::size_t i = 0; i < n; ++i) {
    const T value = combine(operation, a[i], b[i]);
    out[i] = value;
    also[i] = value;
  }
}

template <typename T, typename Operation>
void fold_tile(Operation operation, std::span<const std::byte* const> sources,
               std::span<std::byte* const> destinations, std::size_t from, std::size_t n) {
  const auto source = [&](std::size_t i) { return reinterpret_cast<const T*>(sources[i]) + from; };
  alignas(64) T tile[kTile];
  if (sources.size() == 1) std::copy_n(source(0), n, tile);
  if (sources.size() >= 2) fold_two(operation, source(0), source(1), tile, n);
  for (std::size_t i = 2; i < sources.size(); ++i) fold_two(operation, tile, source(i), tile, n);
  for (std::byte* destination : destinations)
    std::memcpy(reinterpret_cast<T*>(destination) + from, tile, n * sizeof(T));
}

template <typename T, typename Operation>
void fold_all(Operation operation, std::span<const std::byte* const> sources,
              std::span<std::byte* const> destinations, std::size_t count) {
  const auto* a = reinterpret_cast<const T*>(sources[0]);
  if (sources.size() == 2 && destinations.size() <= 2 && !destinations.empty()) {
    const auto* b = reinterpret_cast<const T*>(sources[1]);
    auto* out = reinterpret_cast<T*>(destinations[0]);
    if (destinations.size() == 1) return fold_two(operation, a, b, out, count);
    return fold_two_to_two(operation, a, b, out, reinterpret_cast<T*>(destinations[1]), count);
  }
  for (std::size_t from = 0; from < count; from += kTile) {
    fold_tile<T>(operation, sources, destinations, from, std::min(kTile, count - from));
  }
}

void fold(Fold operation, DType dtype, std::span<const std::byte* const> sources,
          std::span<std::byte* const> destinations, std::size_t count) {
  visit_dtype(dtype, [&]<typename T>(T) {
    switch (operation) {
      case Fold::sum: return fold_all<T>(Sum(), sources, destinations, count);
      case Fold::product: return fold_all<T>(Product(), sources, destinations, count);
      case Fold::max: return fold_all<T>(Max(), sources, destinations, count);
      case Fold::min: return fold_all<T>(Min(), sources, destinations, count);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket {

HWY_EXPORT(fold);

void fold(Fold operation, DType dtype, std::span<const std::byte* const> sources,
          std::span<std::byte* const> destinations, std::size_t count) {
  if (count > 0) HWY_DYNAMIC_DISPATCH(fold)(operation, dtype, sources, destinations, count);
}

void divide(DType dtype, std::byte* values, std::size_t count, int divisor) {
  visit_dtype(dtype, [&]<typename T>(T) {
    auto* x = reinterpret_cast<T*>(values);
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
        x[i] = T(static_cast<float>(x[i]) / static_cast<float>(divisor));
      } else {
        x[i] = static_cast<T>(x[i] / static_cast<T>(divisor));
      }
    }
  });
}

}  // namespace hocket
#endif
