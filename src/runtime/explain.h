#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collective/collective.h"
#include "runtime/mesh_prices.h"
#include "runtime/program.h"

// What a placed step communicates and keeps, read off the graph that will run.
namespace hocket {

// One collective of a step, and why it is there.
struct StepCollective {
  Phase phase = Phase::forward;
  Collective collective = Collective::all_reduce;
  std::string axis;
  std::vector<int> ranks;  // That take part, with this one.
  std::string value;       // Of the whole model's graph; or a bucket, or the gradients that travel together.
  Type type;               // Of what travels, all ranks' blocks together.
  std::size_t bytes = 0;   // Of that.
  std::string from, to;    // Placements along the axis.
  std::string reader;      // The node that first needs it so.
  int times = 1;           // A step: forward and backward run once a micro-batch.
  std::uint64_t sent_bytes = 0;  // By each rank, each time: 2(P-1)/P of the bytes where they are reduced to
                                 // all, else (P-1)/P.
};

// What travels or is kept together.
struct StepBucket {
  std::string name;
  std::vector<std::string> parameters;
  std::size_t bytes = 0;        // Of all of it.
  std::size_t slice_bytes = 0;  // That each rank keeps; 0 where it is not sharded.
};

// Bytes of one rank.
struct StepFootprint {
  std::size_t parameters = 0, gradients = 0, state = 0, buffers = 0;  // From step to step.
  std::size_t activations = 0;  // Within a step; values that do not live together share memory.
  std::size_t gathered = 0;     // Of these, parameters made whole for a while: at most so much at a time.

  std::size_t kept() const { return parameters + gradients + state + buffers; }
};

struct StepExplanation {
  std::vector<StepCollective> collectives;  // In the order of the step.
  std::vector<StepBucket> buckets;
  StepFootprint footprint;
};

// `step` is training_step() of `options`.
StepExplanation explain_step(const PlacedStep& step, const ProgramOptions& options);

struct StepTotal {
  int count = 0;
  std::uint64_t sent_bytes = 0;  // By each rank.
};
// By axis and phase.
std::map<std::pair<std::string, Phase>, StepTotal> totals_of(const StepExplanation& step);

// What a step's communication costs on a topology, each collective after the other.
struct StepPrice {
  double seconds = 0;
  std::uint64_t host_bytes = 0;  // That leave a host, of all ranks together.
  std::uint64_t rack_bytes = 0;
};
StepPrice price_of(const StepExplanation& step, MeshPrices& prices);

}  // namespace hocket
