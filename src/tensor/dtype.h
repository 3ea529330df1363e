#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hocket {

enum class DType : std::uint8_t { f32, f64, bf16, f16, i32, i64, u8 };

std::size_t size_of(DType dtype);
std::string_view name_of(DType dtype);
std::optional<DType> find_dtype(std::string_view name);

// The upper half of an f32. Conversion from f32 rounds to nearest, ties to even, and keeps NaN a NaN.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

// IEEE 754 binary16. Conversion from f32 rounds to nearest, ties to even; overflow gives infinity.
struct Float16 {
  std::uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value);
  explicit operator float() const;
};

// Calls `body` with a value of the C++ type that stores `dtype`, as in
// `visit_dtype(dtype, [&]<typename T>(T) { … })`.
template <typename Body>
decltype(auto) visit_dtype(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::f32: return body(float{});
    case DType::f64: return body(double{});
    case DType::bf16: return body(BFloat16{});
    case DType::f16: return body(Float16{});
    case DType::i32: return body(std::int32_t{});
    case DType::i64: return body(std::int64_t{});
    case DType::u8: break;
  }
  return body(std::uint8_t{});
}

}  // namespace hocket
