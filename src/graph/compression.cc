#include "graph/compression.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace hocket {
namespace {

constexpr CompressionKind kKinds[] = {CompressionKind::bf16, CompressionKind::int8, CompressionKind::topk};

// (0, 1]; nothing where the text is no such number.
std::optional<double> parse_fraction(std::string_view text) {
  double fraction = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fraction);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && fraction > 0 && fraction <= 1 ? std::optional(fraction) : std::nullopt;
}

}  // namespace

std::string_view name_of(CompressionKind kind) {
  switch (kind) {
    case CompressionKind::bf16: return "bf16";
    case CompressionKind::int8: return "int8";
    case CompressionKind::topk: break;
  }
  return "topk";
}

std::optional<CompressionKind> find_compression(std::string_view name) {
  for (const CompressionKind kind : kKinds) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

std::optional<Compression> Compression::parse(std::string_view text) {
  if (text.empty() || text == "none") return std::nullopt;
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::optional<CompressionKind> kind = find_compression(text.substr(0, equals));
  if (kind && *kind != CompressionKind::topk && equals == text.size()) return Compression{*kind};
  if (kind == CompressionKind::topk && equals < text.size()) {
    if (const auto fraction = parse_fraction(text.substr(equals + 1))) return Compression{*kind, *fraction};
  }
  throw ConfigError("compress {} is not none, bf16, int8 or topk=F with F in (0, 1], such as topk=0.01",
                    text);
}

CompressionSpec Compression::spec(std::int64_t count, DType dtype) const {
  // ⌈fraction · count⌉, but for what the fraction lost when it was read.
  const double kept = std::ceil(fraction * static_cast<double>(count) * (1 - 1e-12));
  return {.kind = kind, .count = count, .kept = static_cast<std::int64_t>(kept), .dtype = dtype};
}

Type payload_type(const CompressionSpec& spec) {
  if (spec.kind == CompressionKind::bf16) return {DType::bf16, {spec.count}};
  return {DType::u8, {spec.payload_bytes()}};
}

}  // namespace hocket
