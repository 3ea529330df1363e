#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/mesh.h"
#include "graph/operator.h"

// The placement compiler: from the graph of a whole step and a mesh to the graph of one rank.
namespace hocket {

using Placements = std::vector<Placement>;  // One per axis of the mesh.

// "The parameters that match the pattern (with * for any text) lie so along that axis."
struct Declaration {
  std::string pattern;
  std::string axis;
  Placement placement;

  // As users type it: "blocks.*.mlp.up.weight=tp:0" cuts along dimension 0, "…=tp:replicated" does not cut.
  static Declaration parse(std::string_view text);
};

// What a conversion of a value of `bytes` (on each rank, uncut along the axis) costs by one collective.
using ConversionCost =
    std::function<double(std::string_view collective, std::size_t bytes, const Mesh::Axis& axis)>;
// Seconds by a plain model: a latency for each rank and the bytes that a rank sends.
double default_conversion_cost(std::string_view collective, std::size_t bytes, const Mesh::Axis& axis);

// Which part of a global tensor a rank has: an interval in every dimension.
struct Shard {
  Type global;
  Placements placements;
  IntList begin;
  Shape shape;

  bool is_whole() const { return shape == global.shape; }
};

struct PlaceOptions {
  Mesh mesh{};
  int rank = 0;
  std::vector<Declaration> declarations{};
  bool sync_batch_norm = false;  // Statistics over the whole batch; else each rank has its own.
  bool factors = false;          // Weight gradients of products are made from gathered factors where those
                                 // are fewer bytes than the sum.
  int micro_batches = 1;         // Of a step: factors are gathered in each, sums are made once.
  ConversionCost cost = default_conversion_cost;
  const std::map<std::string, Shard>* kept = nullptr;  // Parameters lie so, whatever is declared.
};

// How the operands of every node lie. Along an axis, a node runs by one of its operator's rules or, where
// that is empty, whole on every rank.
struct Assignment {
  std::vector<Placements> values;                 // By ValueId: as it is made, or kept.
  std::vector<std::vector<PlacementRule>> rules;  // By node and axis.
};

// Follows the declarations through the graph: every node runs where its operands are, at the least cost of
// conversions; parameters that nothing is said of are stored as their first reader wants them. Batches are
// cut along dp. Throws ConfigError for a declaration that names nothing, or asks for an uneven or useless
// cut.
Assignment assign_placements(const Graph& graph, const PlaceOptions& options);

// A collective that was inserted.
struct Conversion {
  std::string collective;  // The operator's name.
  std::string axis;
  std::string value;   // Of the serial graph.
  std::string reader;  // The node that first needed it.
  Placement from, to;
  int ranks = 1;
  std::size_t bytes = 0;  // Of the value on one rank, uncut along the axis.
  double seconds = 0;     // Predicted.
  std::string result{};   // The collective's output, in the placed graph.
};

struct PlacedGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Gradient> gradients;       // One per parameter.
  std::map<std::string, Shard> sources;  // Of every source, by name.
  std::vector<Conversion> conversions;
  std::map<ValueId, Placements> placements{};  // Of its values, but those in the middle of a conversion.
};

// The graph that rank `options.rank` runs. Outputs are made whole along every axis but dp, where sums stay
// partial and rows are the rank's own. `gradients` are those of differentiate(), or empty.
PlacedGraph place(const Graph& graph, std::span<const Gradient> gradients, const PlaceOptions& options);

// Which operand of sparse rows an input is: 0 their values, 1 columns, 2 offsets; -1: none of these.
int sparse_operand(const Graph& graph, ValueId input);

// The type of the part that each rank has.
Type local_type(const Type& global, const Placements& placements, const Mesh& mesh);

}  // namespace hocket
