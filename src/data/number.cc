#include "data/number.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>

namespace hocket {
namespace {

// Powers of ten that a double holds exactly; with a mantissa below 2^53 one division or multiplication is
// then the correctly rounded result (Clinger's fast path).
constexpr std::array<double, 23> kTen{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr std::uint64_t kMaxMantissa = std::uint64_t{1} << 53;
constexpr int kMaxDigits = 19;  // Always fit 64 bits.

const char* parse_slowly(const char* first, const char* last, double& value) {
  const auto [end, error] = std::from_chars(first, last, value);
  if (error == std::errc::result_out_of_range) {  // Infinity, or nothing at all: strtod tells which.
    value = std::strtod(std::string(first, end).c_str(), nullptr);
    return end;
  }
  return error == std::errc{} ? end : nullptr;
}

const char* parse_unsigned(const char* first, const char* last, double& value) {
  std::uint64_t mantissa = 0;
  const char* at = first;
  while (at < last && is_digit(*at)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*at++ - '0');
  auto digits = at - first;
  std::ptrdiff_t fraction = 0;
  if (at < last && *at == '.') {
    const char* point = at++;
    while (at < last && is_digit(*at)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*at++ - '0');
    fraction = at - point - 1;
    digits += fraction;
  }
  const bool has_exponent = at < last && (*at == 'e' || *at == 'E');
  if (digits == 0 || digits > kMaxDigits || has_exponent || mantissa > kMaxMantissa) {
    return parse_slowly(first, last, value);
  }
  value = static_cast<double>(mantissa) / kTen[static_cast<std::size_t>(fraction)];
  return at;
}

}  // namespace

const char* parse_number(const char* first, const char* last, double& value) {
  if (first == last) return nullptr;
  if (*first != '-' && *first != '+') return parse_unsigned(first, last, value);
  const char* end = first + 1 < last && first[1] != '-' ? parse_unsigned(first + 1, last, value) : nullptr;
  if (*first == '-') value = -value;
  return end;
}

bool parse_whole_number(std::string_view text, double& value) {
  const char* last = text.data() + text.size();
  return parse_number(text.data(), last, value) == last && !text.empty();
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxShown = 24;
  std::string shown = "'";
  for (const char c : text.substr(0, kMaxShown)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + (text.size() > kMaxShown ? "…'" : "'");
}

}  // namespace hocket
