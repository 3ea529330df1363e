#pragma once

#include <string>
#include <vector>

#include "graph/place.h"

namespace hocket {

// A pipeline of `ranks` ranks along pp; stage s is chunk s / ranks of rank s % ranks.
struct PipelineCut {
  int ranks = 1;
  int rank = 0;
  int chunks = 1;

  int stages() const { return ranks * chunks; }
};

// A parameter that stages of several ranks read: `owner` (a place along pp) trains it, each of `readers` has
// a copy, as an input of that name.
struct ParameterCopy {
  std::string name;
  Type type;
  int owner = 0;
  std::vector<int> readers;
};

// How messages between two ranks are kept apart: those of one channel are received in the order in which they
// are sent. Parameters have channel 0.
int channel_count(int chunks);

// Nodes in the order in which a micro-batch meets them: stages ascending in forward, descending in backward.
void sort_by_stage(Graph& graph);

struct RankGraph {
  PlacedGraph placed;
  std::vector<ParameterCopy> copies;  // Of all ranks.
};

// The part of a step sorted by stage, or of a forward graph, that one rank of the pipeline runs: its own
// nodes, each with its chunk as its stage, `receive` nodes first in each phase and chunk, and `send` nodes
// behind what other ranks read. Norms over all gradients are summed along pp.
RankGraph cut_stages(const PlacedGraph& step, const PipelineCut& cut);

}  // namespace hocket
