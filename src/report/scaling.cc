// A ring sends 2(P-1)/P · N bytes over each link a step, whatever the number of workers P; the link of one
// master carries N from each of them and N back. With the time of a step of the measured way as the unit, and
// s of it communication, P workers take 1 - s + s · bytes(P) / bytes(P0).
#include "report/scaling.h"

#include <algorithm>

namespace hocket {
namespace {

constexpr int kMost = 64;

double ring_bytes(int workers) { return 2.0 * (workers - 1) / workers; }
double master_bytes(int workers) { return 2.0 * workers; }

bool is_all_reduce(const ComparedWay& way) { return way.group.starts_with("all-reduce"); }

std::optional<std::size_t> find_start(const Comparison& comparison, const Scores& scores) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < comparison.ways.size(); ++i) {
    const ComparedWay& way = comparison.ways[i];
    const bool is_measured = way.workers > 1 && way.workers <= static_cast<int>(comparison.cores) &&
                             scores.ways[i].throughput_speedup && is_all_reduce(way);
    if (is_measured && (!found || way.workers > comparison.ways[*found].workers)) found = i;
  }
  return found;
}

}  // namespace

std::optional<ModelledScaling> model_scaling(const Comparison& comparison, const Scores& scores) {
  const std::optional<std::size_t> start = find_start(comparison, scores);
  if (!start) return std::nullopt;
  const int measured = comparison.ways[*start].workers;
  const double share = scores.ways[*start].shares.communication;
  const double speed_up = *scores.ways[*start].throughput_speedup;
  const auto point = [&](int workers, double bytes) {
    const double communication = share * bytes / ring_bytes(measured);
    const double step = 1 - share + communication;
    return ScalingPoint{workers, speed_up * workers / measured / step, communication / step};
  };
  ModelledScaling scaling{*start, {}, {}, ""};
  for (int workers = measured; workers <= kMost; workers *= 2) {
    scaling.ring.push_back(point(workers, ring_bytes(workers)));
    scaling.master.push_back(point(workers, master_bytes(workers)));
  }
  scaling.assumption =
      "modelled: every worker keeps its samples a step, and all links are as fast as those measured with " +
      comparison.ways[*start].label;
  return scaling;
}

}  // namespace hocket
