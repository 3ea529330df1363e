#pragma once

#include <vector>

#include "sync/peer_graph.h"

namespace hocket {

// A square matrix of doubles, row by row.
class MixingMatrix {
 public:
  explicit MixingMatrix(int size)
      : size_(size), values_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {}

  int size() const { return size_; }
  double& at(int row, int column) { return values_[index(row, column)]; }
  double at(int row, int column) const { return values_[index(row, column)]; }

 private:
  std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(size_) + static_cast<std::size_t>(column);
  }

  int size_;
  std::vector<double> values_;
};

// How much of the parameters of each peer (column) another one (row) takes in a round. Without direction:
// Metropolis weights 1/(1 + the larger degree), symmetric, rows and columns sum to 1. Directed: each sends
// the same share to itself and its out-neighbours, so that columns sum to 1.
MixingMatrix mixing_matrix(const PeerGraph& graph);

// The second-largest absolute value among the eigenvalues of a matrix whose columns sum to 1: what is left of
// a disagreement after a round, in the long run. 1 where the graph falls apart.
double second_eigenvalue(const MixingMatrix& matrix);

// Mixing as one peer sees it, round after round. Over a directed graph plain mixing would favour those who
// receive much; push-sum (Kempe et al. 2003) also mixes a weight, 1 at first, and divides by it. As all peers
// know the graph, each computes the weights itself. A value type.
class Mixing {
 public:
  Mixing(const PeerGraph& graph, int peer);

  // Whose values the peer adds up, ascending, itself among them; the factors on them sum to 1.
  const std::vector<int>& sources() const { return sources_; }
  const std::vector<double>& factors() const { return factors_; }
  // Of each peer now: the average that the graph preserves is Σ weight · values / size. All 1 without
  // direction.
  double weight(int peer) const { return weights_[static_cast<std::size_t>(peer)]; }
  void advance();  // A round is over.

 private:
  void find_factors();

  MixingMatrix matrix_;
  bool is_directed_;
  std::vector<int> sources_;
  int peer_;
  std::vector<double> weights_, next_;
  std::vector<double> factors_;
};

}  // namespace hocket
