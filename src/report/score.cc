#include "report/score.h"

#include <algorithm>
#include <cmath>

namespace hocket {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kGigabyte = 1e9;

std::vector<const TrainTrial*> trials_with(const ComparedWay& way, TrialStatus status) {
  std::vector<const TrainTrial*> trials;
  for (const TrainTrial& trial : way.trials) {
    if (trial.status == status && !trial.is_repeat) trials.push_back(&trial);
  }
  return trials;
}

std::optional<double> best_error_of(const TrainTrial& trial) {
  std::optional<double> best;
  for (const TestPoint& test : trial.tests) {
    if (std::isfinite(test.error) && (!best || test.error < *best)) best = test.error;
  }
  return best;
}

std::optional<double> chosen_target(const Comparison& comparison) {
  if (comparison.target_error) return comparison.target_error;
  std::optional<double> target;
  for (const ComparedWay& way : comparison.ways) {
    for (const TrainTrial* trial : trials_with(way, TrialStatus::done)) {
      const std::optional<double> best = best_error_of(*trial);
      if (best && (!target || *best > *target)) target = best;
    }
  }
  return target;
}

const TestPoint* find_test(const TrainTrial& trial, double target) {
  const auto at = std::find_if(trial.tests.begin(), trial.tests.end(),
                               [&](const TestPoint& test) { return test.error <= target; });
  return trial.status == TrialStatus::done && at != trial.tests.end() ? &*at : nullptr;
}

double cost_of(double seconds, double bytes, int workers, const Prices& prices) {
  return seconds * workers / kSecondsPerHour * prices.worker_hour + bytes / kGigabyte * prices.gigabyte;
}

void score_efficiency(const ComparedWay& way, double target, const Prices& prices, WayScore& score) {
  std::vector<Needed> seconds, epochs, bytes, worker_seconds, costs;
  for (const TrainTrial& trial : way.trials) {
    if (trial.status == TrialStatus::pending || trial.is_repeat) continue;
    const TestPoint* test = find_test(trial, target);
    const auto value = [&](double number) { return test == nullptr ? Needed() : Needed(number); };
    const TestPoint at = test == nullptr ? TestPoint() : *test;
    score.reached += test == nullptr ? 0 : 1;
    seconds.push_back(value(at.seconds));
    epochs.push_back(value(at.epoch));
    bytes.push_back(value(at.bytes));
    worker_seconds.push_back(value(at.seconds * way.workers));
    costs.push_back(value(cost_of(at.seconds, at.bytes, way.workers, prices)));
  }
  score.seconds = estimate_median(seconds);
  score.epochs = estimate_median(epochs);
  score.bytes = estimate_median(bytes);
  score.worker_seconds = estimate_median(worker_seconds);
  if (!costs.empty()) score.cost_to_target = median_of(costs);
  score.defaults_sufficed = way.tuned.empty() && 2 * score.reached > score.runs;
}

std::optional<bool> repeats_bitwise(const ComparedWay& way) {
  for (const TrainTrial& repeat : way.trials) {
    if (!repeat.is_repeat || repeat.status != TrialStatus::done) continue;
    for (const TrainTrial& first : way.trials) {
      if (first.is_repeat || first.seed != repeat.seed || first.status != TrialStatus::done) continue;
      return first.parameter_hash == repeat.parameter_hash;
    }
  }
  return std::nullopt;
}

void score_stability(const ComparedWay& way, WayScore& score) {
  std::vector<double> errors;
  for (const TrainTrial* trial : trials_with(way, TrialStatus::done)) {
    if (!trial->tests.empty()) errors.push_back(trial->tests.back().error);
  }
  score.final_error = estimate_mean(errors);
  if (!errors.empty()) score.worst_error = *std::max_element(errors.begin(), errors.end());
  score.repeats_bitwise = repeats_bitwise(way);
}

template <typename Value>
double median_over(const std::vector<const TrainTrial*>& trials, Value value) {
  std::vector<double> values;
  values.reserve(trials.size());
  for (const TrainTrial* trial : trials) values.push_back(value(*trial));
  return values.empty() ? 0 : median_of(std::move(values));
}

double known_seconds(const TrainTrial& trial) {
  return trial.compute_seconds + trial.exposed_comm_seconds + trial.wait_seconds;
}

TimeShares shares_of(const std::vector<const TrainTrial*>& trials) {
  TimeShares shares;
  double all = 0;
  for (const TrainTrial* trial : trials) {
    shares.compute += trial->compute_seconds;
    shares.communication += trial->exposed_comm_seconds;
    shares.wait += trial->wait_seconds;
    all +=
        std::max(trial->train_seconds, known_seconds(*trial));  // Ranks differ from the first, by a little.
  }
  if (all <= 0) return {};
  shares.other = std::max(0.0, all - shares.compute - shares.communication - shares.wait);
  for (double* share : {&shares.compute, &shares.communication, &shares.wait, &shares.other}) *share /= all;
  return shares;
}

// All runs of a way test after the same steps; one that stopped at its target has fewer tests.
std::vector<CurvePoint> curve_of(const std::vector<const TrainTrial*>& trials) {
  std::vector<CurvePoint> curve;
  for (std::size_t i = 0;; ++i) {
    std::vector<const TestPoint*> tests;
    for (const TrainTrial* trial : trials) {
      if (i < trial->tests.size()) tests.push_back(&trial->tests[i]);
    }
    if (tests.empty()) return curve;
    const auto median = [&](double TestPoint::*member) {
      std::vector<double> values;
      values.reserve(tests.size());
      for (const TestPoint* test : tests) values.push_back(test->*member);
      return median_of(std::move(values));
    };
    CurvePoint point{{median(&TestPoint::step), median(&TestPoint::epoch), median(&TestPoint::seconds),
                      median(&TestPoint::bytes), median(&TestPoint::error)},
                     tests.front()->error,
                     tests.front()->error};
    for (const TestPoint* test : tests) {
      point.low = std::min(point.low, test->error);
      point.high = std::max(point.high, test->error);
    }
    curve.push_back(point);
  }
}

void score_staleness(const std::vector<const TrainTrial*>& done, WayScore& score) {
  score.staleness = median_over(done, [](const TrainTrial& trial) { return trial.staleness; });
  double all = 0;
  std::vector<double> rates;
  for (const TrainTrial* trial : done) {
    score.is_emulated = score.is_emulated || trial->is_emulated;
    if (trial->conflict_rate) rates.push_back(*trial->conflict_rate);
    score.staleness_shares.resize(std::max(score.staleness_shares.size(), trial->staleness_counts.size()), 0);
    for (std::size_t i = 0; i < trial->staleness_counts.size(); ++i) {
      score.staleness_shares[i] += trial->staleness_counts[i];
      all += trial->staleness_counts[i];
    }
  }
  for (double& share : score.staleness_shares) share /= std::max(all, 1.0);
  if (!rates.empty()) score.conflict_rate = median_of(std::move(rates));
}

void score_the_rest(const ComparedWay& way, const Prices& prices, std::optional<double> optimum,
                    WayScore& score) {
  const std::vector<const TrainTrial*> done = trials_with(way, TrialStatus::done);
  if (done.empty()) return;
  const auto median = [&](double TrainTrial::*member) {
    return median_over(done, [&](const TrainTrial& trial) { return trial.*member; });
  };
  score.samples_per_second = median(&TrainTrial::samples_per_second);
  score.wall_seconds = median(&TrainTrial::wall_seconds);
  score.train_seconds = median(&TrainTrial::train_seconds);
  score.cpu_seconds = median(&TrainTrial::cpu_seconds);
  score.bytes_sent = median(&TrainTrial::bytes_sent);
  score.peak_rss_bytes = median(&TrainTrial::peak_rss_bytes);
  score.exposed_comm_fraction = median_over(done, [](const TrainTrial& trial) {
    return trial.comm_seconds > 0 ? trial.exposed_comm_seconds / trial.comm_seconds : 0;
  });
  score.cost = cost_of(score.train_seconds, score.bytes_sent, way.workers, prices);
  std::vector<double> best;
  for (const TrainTrial* trial : done) {
    if (const auto error = best_error_of(*trial)) best.push_back(*error);
  }
  if (!best.empty()) score.best_error = median_of(std::move(best));
  score.shares = shares_of(done);
  score_staleness(done, score);
  std::vector<double> objectives;
  for (const TrainTrial* trial : done) {
    if (trial->objective) objectives.push_back(*trial->objective);
  }
  if (optimum && !objectives.empty()) score.optimum_gap = median_of(std::move(objectives)) - *optimum;
  score.curve = curve_of(done);
}

WayScore score_alone(const ComparedWay& way, std::optional<double> target, const Comparison& comparison) {
  const Prices& prices = comparison.prices;
  WayScore score;
  for (const TrainTrial& trial : way.trials) {
    if (trial.status == TrialStatus::pending || trial.is_repeat) continue;
    ++score.runs;
    score.done += trial.status == TrialStatus::done ? 1 : 0;
    score.diverged += trial.status == TrialStatus::diverged ? 1 : 0;
    score.failed += trial.status == TrialStatus::failed ? 1 : 0;
  }
  if (target) score_efficiency(way, *target, prices, score);
  score_stability(way, score);
  score_the_rest(way, prices, comparison.optimum, score);
  return score;
}

Needed median_seconds(const WayScore& score) { return score.seconds ? score.seconds->median : Needed(); }

// The way of the same group with the next fewer workers, else the one with one worker.
std::size_t next_smaller(const Comparison& comparison, std::size_t index) {
  const ComparedWay& way = comparison.ways[index];
  std::size_t found = way.baseline;
  for (std::size_t i = 0; i < comparison.ways.size(); ++i) {
    const ComparedWay& other = comparison.ways[i];
    if (other.group == way.group && other.workers < way.workers &&
        other.workers > comparison.ways[found].workers) {
      found = i;
    }
  }
  return found;
}

void score_against_others(const Comparison& comparison, std::size_t index, std::vector<WayScore>& scores) {
  const ComparedWay& way = comparison.ways[index];
  WayScore& score = scores[index];
  const WayScore& alone = scores[way.baseline];
  const Needed seconds = median_seconds(score);
  if (const Needed its = median_seconds(alone); its && seconds && *seconds > 0)
    score.speedup = *its / *seconds;
  if (alone.done > 0 && score.done > 0 && alone.samples_per_second > 0) {
    score.throughput_speedup = score.samples_per_second / alone.samples_per_second;
  }
  if (score.best_error && alone.best_error) score.gap = *score.best_error - *alone.best_error;

  const std::size_t fewer = next_smaller(comparison, index);
  const int added = way.workers - comparison.ways[fewer].workers;
  if (added <= 0) return;
  MarginalGain gain{fewer, added, {}, {}};
  if (const Needed its = median_seconds(scores[fewer]); its && seconds)
    gain.seconds_saved = (*its - *seconds) / added;
  if (const Needed its = scores[fewer].cost_to_target; its && score.cost_to_target) {
    gain.cost_added = (*score.cost_to_target - *its) / added;
  }
  score.marginal = gain;
}

}  // namespace

Scores score(const Comparison& comparison) {
  Scores scores;
  scores.target_error = chosen_target(comparison);
  for (const ComparedWay& way : comparison.ways) {
    scores.ways.push_back(score_alone(way, scores.target_error, comparison));
  }
  for (std::size_t i = 0; i < comparison.ways.size(); ++i) score_against_others(comparison, i, scores.ways);
  return scores;
}

}  // namespace hocket
