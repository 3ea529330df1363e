#pragma once

#include <vector>

#include "report/comparison.h"
#include "report/estimate.h"

namespace hocket {

// What the workers beyond those of another way bring, each.
struct MarginalGain {
  std::size_t than = 0;  // The way with fewer workers.
  int added_workers = 0;
  Needed seconds_saved;  // To the target; nothing where either never got there.
  Needed cost_added;
};

// The curve of the median over seeds at one test, between the best and the worst of them.
struct CurvePoint {
  TestPoint median;
  double low = 0;
  double high = 0;
};

// How the mean second of a way's training was spent, over workers and runs.
struct TimeShares {
  double compute = 0;
  double communication = 0;  // That no computing hid.
  double wait = 0;
  double other = 0;
};

// One way judged by the four criteria, over its seeds. Means and medians are of runs that were done; a run
// that diverged or failed never reached the target.
struct WayScore {
  int runs = 0;  // That have ended, repeats aside.
  int done = 0;

  // Efficiency: what it took to reach the target test error.
  int reached = 0;
  std::optional<MedianEstimate> seconds;
  std::optional<MedianEstimate> epochs;
  std::optional<MedianEstimate> bytes;
  std::optional<MedianEstimate> worker_seconds;

  // Complexity: the way's knobs, and whether it reached the target in most runs with all of them at defaults.
  bool defaults_sufficed = false;

  // Stability, by the error at the end of training.
  int diverged = 0;
  int failed = 0;
  std::optional<MeanEstimate> final_error;
  std::optional<double> worst_error;
  std::optional<bool> repeats_bitwise;  // Empty: not asked for.

  // Cost.
  Needed cost_to_target;
  std::optional<double> cost;  // Of a whole run.
  std::optional<MarginalGain> marginal;

  // Beside them; medians.
  Needed speedup;  // Over one worker in time to the target.
  std::optional<double> throughput_speedup;
  std::optional<double> best_error;
  std::optional<double> gap;          // Of the best error to one worker's.
  std::optional<double> optimum_gap;  // Of the training loss to its least value, where the model is convex.
  double samples_per_second = 0;
  double wall_seconds = 0;
  double train_seconds = 0;
  double cpu_seconds = 0;
  double bytes_sent = 0;
  double peak_rss_bytes = 0;
  double staleness = 0;
  std::vector<double> staleness_shares{};  // Of the gradients, with staleness 0, 1, …; empty: not measured.
  std::optional<double> conflict_rate{};
  bool is_emulated = false;
  double exposed_comm_fraction = 0;
  TimeShares shares;
  std::vector<CurvePoint> curve;
};

struct Scores {
  std::optional<double> target_error;  // The one given, or chosen; nothing where nothing was tested.
  std::vector<WayScore> ways;          // As in the comparison.
};

Scores score(const Comparison& comparison);

}  // namespace hocket
