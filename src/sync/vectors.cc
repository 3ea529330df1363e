#include "sync/vectors.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace hocket {
namespace {

// Several sums side by side, for the processor's sake.
WideSum dot(std::span<const double> a, std::span<const double> b) {
  std::array<WideSum, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= a.size(); i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane].add_product(a[i + lane], b[i + lane]);
  }
  for (; i < a.size(); ++i) sums[0].add_product(a[i], b[i]);
  WideSum sum;
  for (const WideSum& lane : sums) sum.add(lane);
  return sum;
}

}  // namespace

bool LocalVectors::fits(std::span<const VectorOp> ops) const {
  return std::all_of(ops.begin(), ops.end(), [&](const VectorOp& op) {
    return op.kind <= VectorOp::Kind::dot && has(op.dst) && has(op.src);
  });
}

std::span<double> LocalVectors::at(VectorId id) {
  HOCKET_CHECK(has(id), "vector {} of {}", id, vectors_.size());
  std::vector<double>& vector = vectors_[id];
  if (vector.empty()) vector.resize(static_cast<std::size_t>(length_));
  return vector;
}

std::vector<WideSum> LocalVectors::run(std::span<const VectorOp> ops) {
  std::vector<WideSum> dots;
  for (const VectorOp& op : ops) {
    const std::span<double> dst = at(op.dst);
    const std::span<const double> src = at(op.src);
    switch (op.kind) {
      case VectorOp::Kind::copy: std::copy(src.begin(), src.end(), dst.begin()); break;
      case VectorOp::Kind::scale:
        for (double& x : dst) x *= op.factor;
        break;
      case VectorOp::Kind::add:
        for (std::size_t i = 0; i < dst.size(); ++i) dst[i] += op.factor * src[i];
        break;
      case VectorOp::Kind::dot: dots.push_back(dot(dst, src)); break;
    }
  }
  return dots;
}

}  // namespace hocket
