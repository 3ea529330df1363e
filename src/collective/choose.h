#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collective/collective.h"
#include "collective/topology.h"

namespace hocket {

// Whether sums must be made in rank order, whatever the transport or algorithm.
enum class ReduceOrder : std::uint8_t { rank, any };

std::string_view name_of(ReduceOrder order);

// What an algorithm is wanted for, in the world that the topology describes.
struct Demand {
  Collective collective = Collective::all_reduce;
  std::size_t count = 0;  // Elements, as in Call.
  std::size_t element_bytes = 4;
  ReduceOrder order = ReduceOrder::any;
  bool shares_memory = false;  // Whether all ranks can read each other's buffers, as `direct` does.
};

// One way to meet it.
struct Candidate {
  Algorithm algorithm = Algorithm::ring;
  int rounds = 0;
  std::uint64_t bytes_per_rank = 0;  // That the busiest rank sends.
  Seconds predicted{0};
  bool is_replayed = true;  // Predicted by simulation; else, in large worlds, by the prices of a few ranks.
  bool keeps_rank_order = false;
  std::optional<Seconds> measured = {};

  Seconds time() const { return measured.value_or(predicted); }
};

// The call that a candidate stands for: hierarchical algorithms get the topology's groups.
Call call_of(const Demand& demand, Algorithm algorithm, const Topology& topology);

// Whether it supports the demand, may sum in the order asked for, and has the shared memory or the groups of
// ranks that it is made for.
bool is_allowed(const Demand& demand, Algorithm algorithm, const Topology& topology);

// Everything that is allowed, the cheapest first; never empty for what any algorithm supports.
std::vector<Candidate> candidates(const Demand& demand, const Topology& topology);

// A table of the candidates, and a sentence that says which is chosen and why.
std::string explain(const Demand& demand, const Topology& topology, const std::vector<Candidate>& candidates);

// The algorithm for every size, frozen: what a job decides before its first step and keeps in its run folder
// and checkpoints. A value type.
class ChoiceTable {
 public:
  struct Choice {
    Collective collective = Collective::all_reduce;
    std::uint64_t up_to_bytes = kUnbounded;
    Algorithm algorithm = Algorithm::ring;
    bool operator==(const Choice&) const = default;
  };
  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

  ChoiceTable() = default;
  ChoiceTable(int world, ReduceOrder order) : world_(world), order_(order) {}

  int world() const { return world_; }
  ReduceOrder order() const { return order_; }
  const std::vector<Choice>& choices() const { return choices_; }

  // Appends: a collective's choices come in growing size.
  void add(const Choice& choice);

  // The algorithm of the smallest class that holds `bytes`, if the table speaks of the collective.
  std::optional<Algorithm> find(Collective collective, std::uint64_t bytes) const;

  // As TOML. parse() trusts nothing and throws ConfigError: one line with file, line and column.
  std::string text() const;
  static ChoiceTable parse(std::string_view text, const std::string& file);

  bool operator==(const ChoiceTable&) const = default;

 private:
  int world_ = 1;
  ReduceOrder order_ = ReduceOrder::any;
  std::vector<Choice> choices_;
};

// Measures a candidate; must give the same on every rank, or nothing where it cannot be measured.
using Measure = std::function<std::optional<Seconds>(const Demand& demand, Algorithm algorithm)>;

// Chooses for every collective and size class (a factor of four each). `demand` says the rest. With `measure`
// the best three of each class are measured, and the fastest is taken.
ChoiceTable choose_all(Demand demand, const Topology& topology, const Measure& measure = nullptr);

}  // namespace hocket
