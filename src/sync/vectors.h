#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sync/wide_sum.h"

namespace hocket {

// The number of a vector: the same wherever a part of it lies.
using VectorId = std::uint8_t;

// One step of vector arithmetic.
struct VectorOp {
  enum class Kind : std::uint8_t {
    copy,   // dst = src
    scale,  // dst = factor · dst
    add,    // dst = dst + factor · src
    dot,    // gives dst · src
  };
  Kind kind = Kind::copy;
  VectorId dst = 0;
  VectorId src = 0;
  double factor = 0;

  bool operator==(const VectorOp&) const = default;
};

inline VectorOp copy_op(VectorId dst, VectorId src) { return {VectorOp::Kind::copy, dst, src}; }
inline VectorOp scale_op(VectorId dst, double factor) { return {VectorOp::Kind::scale, dst, dst, factor}; }
inline VectorOp add_op(VectorId dst, double factor, VectorId src) {
  return {VectorOp::Kind::add, dst, src, factor};
}
inline VectorOp dot_op(VectorId a, VectorId b) { return {VectorOp::Kind::dot, a, b}; }

// Numbered vectors of one length, or one range of them: what vector operations run on. The same operations
// give the same bits. Vectors are zero at first and take memory when they are first written. Used by one
// thread.
class LocalVectors {
 public:
  LocalVectors(std::int64_t length, int vectors)
      : length_(length), vectors_(static_cast<std::size_t>(vectors)) {}

  std::int64_t length() const { return length_; }
  bool has(VectorId id) const { return id < vectors_.size(); }
  bool fits(std::span<const VectorOp> ops) const;  // Nothing else may be given to run().
  std::span<double> at(VectorId id);

  // Runs them in order; the results of the dots, in order.
  std::vector<WideSum> run(std::span<const VectorOp> ops);

 private:
  std::int64_t length_;
  std::vector<std::vector<double>> vectors_;
};

}  // namespace hocket
