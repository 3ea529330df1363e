#include "tensor/dtype.h"

#include <array>
#include <cmath>

namespace hocket {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr std::array<Entry, 7> kDTypes{{{DType::f32, "f32", 4},
                                        {DType::f64, "f64", 8},
                                        {DType::bf16, "bf16", 2},
                                        {DType::f16, "f16", 2},
                                        {DType::i32, "i32", 4},
                                        {DType::i64, "i64", 8},
                                        {DType::u8, "u8", 1}}};

}  // namespace

std::size_t size_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].size; }

std::string_view name_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].name; }

std::optional<DType> find_dtype(std::string_view name) {
  for (const Entry& entry : kDTypes) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

BFloat16::BFloat16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    bits = static_cast<std::uint16_t>((word >> 16) | 0x40);
  } else {
    bits = static_cast<std::uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
}

Float16::Float16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) {
    bits = sign | 0x7e00;
  } else if (magnitude >= 65520.0F) {
    bits = sign | 0x7c00;
  } else if (magnitude < 0x1.0p-14F) {  // Subnormal: a multiple of 2^-24; nearbyint rounds ties to even.
    bits = sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1.0p24F));
  } else {
    const std::uint32_t rounded = (word & 0x7fffffff) + 0xfff + ((word >> 13) & 1);
    bits = sign | static_cast<std::uint16_t>((rounded - (112U << 23)) >> 13);
  }
}

Float16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1f;
  const std::uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

}  // namespace hocket
