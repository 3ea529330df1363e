#include "train/straggler.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/rng.h"

namespace hocket {
namespace {

constexpr double kLargestFactor = 1e6;
constexpr std::uint64_t kJitterStream = 0x6a17;

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct SlowRank {
  int rank = 0;
  double factor = 1;
};

SlowRank parse_slow_rank(std::string_view item, int ranks) {
  const std::size_t equals = item.find('=');
  const auto rank = parse_number<int>(item.substr(0, equals));
  const auto factor =
      equals == std::string_view::npos ? std::nullopt : parse_number<double>(item.substr(equals + 1));
  if (!rank || !factor || !(*factor >= 1 && *factor <= kLargestFactor))
    throw ConfigError("--slow: expected RANK=FACTOR with a factor from 1 to {}, found '{}'", kLargestFactor,
                      item);
  if (*rank < 0 || *rank >= ranks)
    throw ConfigError("--slow: there is no rank {} among {} workers", *rank, ranks);
  return {*rank, *factor};
}

// Of a log-normal distribution with mean 1 and this coefficient of variation.
double random_factor(double cv, Rng rng) {
  const double variance = std::log1p(cv * cv);
  return std::exp(std::sqrt(variance) * rng.normal() - variance / 2);
}

}  // namespace

Straggler::Straggler(const TrainOptions& options, int rank, int ranks)
    : jitter_(options.jitter),
      least_(options.emulate_compute),
      seed_(options.seed),
      rank_(static_cast<std::uint64_t>(rank)) {
  std::string_view list = options.slow;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    const SlowRank slow = parse_slow_rank(item, ranks);
    if (slow.rank == rank) factor_ = slow.factor;
  }
}

double Straggler::seconds_left(std::int64_t step, double computed, double share) const {
  double target = std::max(computed, least_ * share) * factor_;
  if (jitter_ > 0) {
    target *= random_factor(jitter_, Rng({kJitterStream, seed_, rank_, static_cast<std::uint64_t>(step)}));
  }
  return std::max(0.0, target - computed);
}

bool is_emulated(const TrainOptions& options) {
  return !options.slow.empty() || options.jitter > 0 || options.emulate_compute > 0;
}

}  // namespace hocket
