#include "plan/model_profile.h"

#include "base/error.h"
#include "collective/cost.h"

namespace hocket {

SampleCost& SampleCost::operator+=(const SampleCost& other) {
  call += other.call;
  sample += other.sample;
  return *this;
}

SampleCost fit_sample_cost(std::span<const SampleTiming> timings) {
  HOCKET_CHECK(!timings.empty());
  if (timings.size() == 1) return {Seconds(0), timings[0].time / static_cast<double>(timings[0].samples)};
  std::vector<TransferSample>
      points;  // Calls cost as messages do: something each, and something by the size.
  points.reserve(timings.size());
  for (const SampleTiming& timing : timings) {
    points.push_back({static_cast<std::size_t>(timing.samples), timing.time});
  }
  const Link link = fit_link(points).link;
  return {link.alpha, Seconds(link.beta)};
}

std::vector<LayerCost> ModelProfile::costs_of(double samples) const {
  std::vector<LayerCost> costs;
  costs.reserve(layers.size());
  for (const LayerProfile& layer : layers) {
    costs.push_back({layer.name, layer.forward.of(samples), layer.backward.of(samples), layer.parameter_bytes,
                     layer.output_bytes * samples, layer.kept_bytes * samples});
  }
  return costs;
}

}  // namespace hocket
