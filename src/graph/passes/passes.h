#pragma once

#include <memory>
#include <span>

#include "graph/compression.h"
#include "graph/graph.h"
#include "graph/operator.h"

// Rewrites of a whole graph. Each keeps what the graph computes and leaves its nodes in a runnable order.
namespace hocket {

// A copy of a forward graph for evaluation: dropout passes its input on, batch norm uses its running
// statistics.
std::unique_ptr<Graph> for_inference(const Graph& graph);

// Computes softmax_cross_entropy in steps of which ranks that have different classes share the results: a
// maximum, a sum and the label's logit a row, so that logits cut by class are never gathered. For a whole
// step, after differentiation: the gradient of the logits reads the probabilities as before.
void split_losses(Graph& graph);

// Removes nodes that no output, gradient or in-place update needs.
void remove_dead_nodes(Graph& graph);

// Merges nodes that one kernel computes in a single pass over memory: matmul+bias, matmul/conv/norm+relu,
// batch norm and the residual added to it, and in backward the parts of batch norm's input gradient, relu's
// mask within them, and relu's mask of a sum.
void fuse(Graph& graph);

// Lets convolutions pool what they make, and their gradients read that of the pooled image: the images in
// between, the largest of all, are never whole in memory.
void fuse_pools(Graph& graph);

// Stores images as channels_last wherever convolutions, pooling and batch norm want them, and adds to_layout
// nodes where a value is needed in the other layout.
void choose_layouts(Graph& graph);

// Lets matrix products, and convolutions without a pool, read bf16 copies of their operands; everything else
// stays f32.
void use_bf16_products(Graph& graph);

// Joins the all_reduce nodes of gradients whose parameters follow each other into one per bucket of at least
// `bytes`, right behind the node that makes the last of its gradients; updates run in the order in which
// buckets arrive.
void bucket_gradients(Graph& graph, std::span<const Gradient> gradients, std::size_t bytes);

// The same, but what is summed along dp travels compressed, with error feedback: the vectors residual/… of
// the optimizer's role are each rank's own.
void compress_gradients(Graph& graph, std::span<const Gradient> gradients, std::size_t bytes,
                        const Compression& compression);

}  // namespace hocket
