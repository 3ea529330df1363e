#include "sync/mixing.h"

#include <algorithm>
#include <cmath>

namespace hocket {
namespace {

constexpr int kSquarings = 30;
constexpr double kNothing = 1e-13;  // A norm below which a matrix is rounding alone.

MixingMatrix metropolis(const PeerGraph& graph) {
  MixingMatrix matrix(graph.size());
  for (int a = 0; a < graph.size(); ++a) {
    double left = 1;
    for (const int b : graph.to(a)) {
      const double weight =
          1.0 / (1.0 + static_cast<double>(std::max(graph.to(a).size(), graph.to(b).size())));
      matrix.at(a, b) = weight;
      left -= weight;
    }
    matrix.at(a, a) = left;
  }
  return matrix;
}

MixingMatrix even_shares(const PeerGraph& graph) {
  MixingMatrix matrix(graph.size());
  for (int a = 0; a < graph.size(); ++a) {
    const double share = 1.0 / (1.0 + static_cast<double>(graph.to(a).size()));
    matrix.at(a, a) = share;
    for (const int b : graph.to(a)) matrix.at(b, a) = share;
  }
  return matrix;
}

MixingMatrix square_of(const MixingMatrix& a) {
  const int size = a.size();
  MixingMatrix product(size);
  for (int i = 0; i < size; ++i) {
    for (int k = 0; k < size; ++k) {
      const double factor = a.at(i, k);
      if (factor == 0) continue;
      for (int j = 0; j < size; ++j) product.at(i, j) += factor * a.at(k, j);
    }
  }
  return product;
}

double norm_of(const MixingMatrix& a) {
  double sum = 0;
  for (int i = 0; i < a.size(); ++i) {
    for (int j = 0; j < a.size(); ++j) sum += a.at(i, j) * a.at(i, j);
  }
  return std::sqrt(sum);
}

void scale(MixingMatrix& a, double factor) {
  for (int i = 0; i < a.size(); ++i) {
    for (int j = 0; j < a.size(); ++j) a.at(i, j) *= factor;
  }
}

}  // namespace

MixingMatrix mixing_matrix(const PeerGraph& graph) {
  return graph.is_directed() ? even_shares(graph) : metropolis(graph);
}

// As columns sum to 1, (1, …, 1) is a left eigenvector, and B = W - (1/n) · ones has the eigenvalues of W but
// for one 1, which is 0 instead (Brauer). Its largest is lim |B^k|^(1/k) (Gelfand), taken at k = 2^30 by
// squaring: right for complex ones and for matrices that are not symmetric, too.
double second_eigenvalue(const MixingMatrix& matrix) {
  MixingMatrix power = matrix;
  for (int i = 0; i < matrix.size(); ++i) {
    for (int j = 0; j < matrix.size(); ++j) power.at(i, j) -= 1.0 / static_cast<double>(matrix.size());
  }
  double log_of_norm = 0;  // Of B^k, divided by k.
  double k = 1;
  for (int i = 0; i <= kSquarings; ++i, k *= 2) {
    const double norm = norm_of(power);
    if (norm < kNothing) return 0;
    log_of_norm += std::log(norm) / k;
    scale(power, 1 / norm);
    power = square_of(power);
  }
  return std::min(1.0, std::exp(log_of_norm));
}

Mixing::Mixing(const PeerGraph& graph, int peer)
    : matrix_(mixing_matrix(graph)),
      is_directed_(graph.is_directed()),
      sources_(graph.from(peer)),
      peer_(peer),
      weights_(static_cast<std::size_t>(graph.size()), 1.0),
      next_(weights_.size()) {
  sources_.insert(std::upper_bound(sources_.begin(), sources_.end(), peer), peer);
  factors_.resize(sources_.size());
  find_factors();
}

void Mixing::advance() {
  weights_.swap(next_);
  find_factors();
}

void Mixing::find_factors() {
  const int size = matrix_.size();
  for (int row = 0; row < size; ++row) {
    double weight = is_directed_ ? 0 : 1;
    for (int column = 0; is_directed_ && column < size; ++column) {
      weight += matrix_.at(row, column) * weights_[static_cast<std::size_t>(column)];
    }
    next_[static_cast<std::size_t>(row)] = weight;
  }
  const double next = next_[static_cast<std::size_t>(peer_)];
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    factors_[i] = matrix_.at(peer_, sources_[i]) * weight(sources_[i]) / next;
  }
}

}  // namespace hocket
