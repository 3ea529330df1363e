// B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7, 1979: the percentile
// method.
#include "report/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"

namespace hocket {
namespace {

constexpr std::size_t kResamples = 2000;
constexpr std::uint64_t kSeed = 1979;
constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<double> numbers_of(std::span<const Needed> sample) {
  std::vector<double> numbers;
  for (const Needed& each : sample) numbers.push_back(each.value_or(kNever));
  return numbers;
}

Needed needed(double number) { return number == kNever ? std::nullopt : Needed(number); }

}  // namespace

double median_of(std::vector<double> sample) {
  HOCKET_CHECK(!sample.empty(), "no sample");
  std::sort(sample.begin(), sample.end());
  const std::size_t middle = sample.size() / 2;
  if (sample.size() % 2 == 1) return sample[middle];
  return sample[middle] == kNever ? kNever : (sample[middle - 1] + sample[middle]) / 2;
}

Needed median_of(std::span<const Needed> sample) { return needed(median_of(numbers_of(sample))); }

std::optional<MedianEstimate> estimate_median(std::span<const Needed> sample) {
  if (sample.empty()) return std::nullopt;
  const std::vector<double> numbers = numbers_of(sample);
  std::mt19937_64 random(kSeed);
  std::vector<double> medians;
  std::vector<double> drawn(numbers.size());
  for (std::size_t i = 0; i < kResamples; ++i) {
    for (double& each : drawn) each = numbers[random() % numbers.size()];
    medians.push_back(median_of(drawn));
  }
  std::sort(medians.begin(), medians.end());
  const auto percentile = [&](double share) {
    return needed(medians[static_cast<std::size_t>(share * static_cast<double>(kResamples - 1))]);
  };
  return MedianEstimate{needed(median_of(numbers)), percentile(0.025), percentile(0.975)};
}

std::optional<MeanEstimate> estimate_mean(std::span<const double> sample) {
  if (sample.empty()) return std::nullopt;
  MeanEstimate estimate;
  for (const double value : sample) estimate.mean += value / static_cast<double>(sample.size());
  double squares = 0;
  for (const double value : sample) squares += (value - estimate.mean) * (value - estimate.mean);
  if (sample.size() > 1) estimate.deviation = std::sqrt(squares / static_cast<double>(sample.size() - 1));
  return estimate;
}

}  // namespace hocket
