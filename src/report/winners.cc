#include "report/winners.h"

#include <fmt/format.h>

#include <functional>
#include <tuple>

namespace hocket {
namespace {

// The less the better, by the first number and then by the second.
using Merit = std::optional<std::pair<double, double>>;
using Judge = std::function<Merit(const ComparedWay& way, const WayScore& score)>;

Needed median(const std::optional<MedianEstimate>& estimate) {
  return estimate ? estimate->median : Needed();
}

double seconds_or(const WayScore& score, double otherwise) {
  return median(score.seconds).value_or(otherwise);
}

Merit merit(Needed first, double second) { return first ? Merit(std::pair(*first, second)) : std::nullopt; }

Merit stability(const WayScore& score) {
  const bool is_steady = score.done > 1 && score.final_error && score.diverged == 0 && score.failed == 0;
  if (!is_steady) return std::nullopt;
  return std::pair(score.final_error->deviation, score.worst_error.value_or(0));
}

Merit complexity(const ComparedWay& way, const WayScore& score) {
  if (!score.defaults_sufficed) return std::nullopt;
  return std::pair(static_cast<double>(way.knobs.size()), seconds_or(score, 1e300));
}

struct Criterion {
  const char* name;
  Judge judge;
  std::function<std::string(double)> text;
};

std::vector<Criterion> criteria(const Comparison& all) {
  const auto seconds = [](double value) { return fmt::format("{:.3g} s", value); };
  const auto error = [&](double value) { return all.error_text(value); };
  return {
      {"time to target", [](auto&, auto& s) { return merit(median(s.seconds), 0); }, seconds},
      {"epochs to target", [](auto&, auto& s) { return merit(median(s.epochs), seconds_or(s, 0)); },
       [](double value) { return fmt::format("{:.3g}", value); }},
      {"bytes to target", [](auto&, auto& s) { return merit(median(s.bytes), seconds_or(s, 0)); },
       [](double value) { return fmt::format("{:.4g} MB", value / 1e6); }},
      {"worker seconds to target", [](auto&, auto& s) { return merit(median(s.worker_seconds), 0); },
       seconds},
      {"complexity", complexity,
       [](double value) { return fmt::format("{:.0f} knobs beyond one worker's", value); }},
      {"stability", [](auto&, auto& s) { return stability(s); },
       [error](double value) { return "± " + error(value); }},
      {"cost to target", [](auto&, auto& s) { return merit(s.cost_to_target, 0); },
       [](double value) { return fmt::format("{:.3g}", value); }},
      {all.judges_by_loss() ? "test loss" : "test error",
       [](auto&, auto& s) { return s.final_error ? merit(s.final_error->mean, 0) : std::nullopt; }, error},
  };
}

}  // namespace

std::vector<Winner> winners(const Comparison& comparison, const Scores& scores) {
  std::size_t several = 0;
  for (const ComparedWay& way : comparison.ways) several += way.workers > 1 ? 1 : 0;
  std::vector<Winner> found;
  for (const Criterion& criterion : criteria(comparison)) {
    Merit best;
    std::size_t at = 0;
    for (std::size_t i = 0; i < comparison.ways.size(); ++i) {
      if (several > 1 && comparison.ways[i].workers == 1) continue;
      const Merit its = criterion.judge(comparison.ways[i], scores.ways[i]);
      if (!its || (best && *best <= *its)) continue;
      best = its;
      at = i;
    }
    if (best) found.push_back({criterion.name, at, criterion.text(best->first)});
  }
  return found;
}

}  // namespace hocket
