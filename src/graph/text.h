#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "graph/graph.h"

// A graph as text: one line a source, node or output, which is also what a model file holds. A comment runs
// from # to the end of its line. N stands for the batch: the first dimension of the input `weight`, one
// weight a sample.
//
//   input image f32[N,1,28,28]
//   parameter conv1.weight f32[32,1,3,3] init=normal std=0.1
//   conv1 = conv2d(image, conv1.weight) padding=1
//   pool1, pool1:1 = max_pool(conv1) kernel=2
//   output loss = xent
namespace hocket {

inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxTextNodes = 100'000;

// Works for every phase. Reading the text back and printing it again gives the same text.
std::string print_text(const Graph& graph);

// Reads a forward graph, with `batch` for every N. `file` is the name in error messages.
// Throws ConfigError saying the line, what was expected and what was found.
std::unique_ptr<Graph> parse_text(std::string_view text, std::string_view file, std::int64_t batch);

}  // namespace hocket
