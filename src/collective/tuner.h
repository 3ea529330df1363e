#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collective/choose.h"
#include "collective/cost.h"
#include "collective/group.h"
#include "collective/topology.h"

namespace hocket {

// Alpha and beta of the link between two ranks, by messages of growing size to and fro. Every rank of the
// group calls it and gets the same answer.
LinkFit measure_link(Group& group, Rank a, Rank b);

// The topology of the group with measured links: one for two ranks of one host, one for two hosts. `host_of`
// says, by rank, which ranks are on one host. Every rank calls it and gets the same answer.
Topology measure_topology(Group& group, std::span<const int> host_of);

// Decides before the first step which algorithm each operation of a job uses: those with the best predictions
// are measured, the fastest is taken, and from then on the group keeps to it. Every rank of the group calls
// the same functions. Used by one thread.
class Tuner {
 public:
  // The group, which outlives the tuner, gets a chooser that follows the table.
  Tuner(Group& group, Topology topology, ReduceOrder order);

  // Decides for operations of up to `bytes`, more than in earlier calls for this collective.
  void tune(Collective collective, std::size_t bytes);

  // Takes a table that was decided before, as a run that goes on does. Throws ConfigError when it is of
  // another world or order.
  void restore(const ChoiceTable& table);

  const ChoiceTable& table() const { return *table_; }
  const std::string& explanation() const {
    return explanation_;
  }  // What was compared, and why each was chosen.

 private:
  Seconds measure(const Demand& demand, Algorithm algorithm);

  Group& group_;
  Topology topology_;
  std::shared_ptr<ChoiceTable> table_;  // The group's too.
  std::string explanation_;
};

}  // namespace hocket
