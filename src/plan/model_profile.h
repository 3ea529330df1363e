#pragma once

#include <span>
#include <string>
#include <vector>

#include "net/clock.h"
#include "plan/partition.h"

namespace hocket {

// What so many samples at once take: the calls themselves, and what each sample adds. So tiny micro-batches
// are dearer by the sample.
struct SampleCost {
  Seconds call{0};
  Seconds sample{0};

  Seconds of(double samples) const { return call + sample * samples; }
  SampleCost& operator+=(const SampleCost& other);
};

struct SampleTiming {
  std::int64_t samples;
  Seconds time;
};

// The costs that explain the timings best; of one timing alone, that all of it is the samples'.
SampleCost fit_sample_cost(std::span<const SampleTiming> timings);

// A layer as measured on one machine.
struct LayerProfile {
  std::string name;
  SampleCost forward{};
  SampleCost backward{};
  Seconds update{0};
  double parameter_bytes = 0;
  double output_bytes = 0;  // A sample's, as in LayerCost.
  double kept_bytes = 0;    // A sample's.
};

struct ModelProfile {
  std::vector<LayerProfile> layers;
  double copies_of_parameters = 2;  // As in PartitionProblem.

  std::vector<LayerCost> costs_of(double samples) const;  // Of a micro-batch of so many samples.
};

}  // namespace hocket
