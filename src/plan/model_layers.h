#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace hocket {

// The nodes of a forward graph from one that begins a layer to the one before the next: where a model may be
// cut.
struct ModelLayer {
  std::string name;  // The scope of its parameters.
  int first_node = 0;
  int end_node = 0;
  double parameter_bytes = 0;  // Of those that it is the first to read.
  double output_bytes = 0;     // Of what later layers read from this one and those before.
};

// Layers begin as begins_layer() of graph/stages.h says.
std::vector<ModelLayer> layers_of(const Graph& forward);

// The layer of every node of a step made from `forward`, however it has been differentiated, updated and
// fused: that of the last forward value or parameter that a node reads or gives the gradient of; else that of
// the values it reads.
std::vector<int> layers_of_step(const Graph& forward, std::span<const ModelLayer> layers, const Graph& step);

// By layer: the bytes of what forward nodes of the step make and backward nodes read.
std::vector<double> kept_bytes_of(const Graph& step, std::span<const int> layer_of_node, int layers);

}  // namespace hocket
