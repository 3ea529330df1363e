#pragma once

#include <cstdint>

#include "tensor/kernels/sgemm.h"

// What strassen-inl.h is told, whatever the target.
namespace hocket::kernel {

// Parts of a matrix, each way. Rows and columns of y come to them by turns, in runs of 16 (kRun), so that a
// row or a column of y depends on no others than those of its group of 64 (kGroup): workers who share a batch
// in whole groups round as one who has all of it. Terms, the columns of a, come to them by quarters.
constexpr std::int64_t kSide = 4;
constexpr std::int64_t kProducts = 49;
constexpr std::int64_t kMostLanes = 16;
constexpr std::int64_t kRun = kMostLanes;
constexpr std::int64_t kGroup = kSide * kRun;
constexpr std::int64_t kPad = 16;  // Floats between panels, lest all of them meet in one set of the cache.

// Of a group of rows of a, transposed, so many terms of each part at a time.
constexpr std::int64_t kFlatRows = kMostLanes;
constexpr std::int64_t kFlatRow = kGroup + kPad;

// y (m, n) = a (m, k)·b (k, n), or y + that, for as much of k as the caches hold.
struct StrassenStep {
  std::int64_t m, n, k;
  Matrix a, b;
  float* y;
  std::int64_t y_stride;
  bool adds;
  const float* bias;  // Null but at the end of k, and so is `has_relu`.
  bool has_relu;
  float* right;       // The panels of b.
  bool in_pairs;      // Terms are multiplied in pairs (strassen_pairs-inl.h).
  float* right_back;  // Where they are: by what a group of columns is scaled back.

  std::int64_t part_rows() const { return m / kSide; }
  std::int64_t part_columns() const { return n / kSide; }
  std::int64_t part_depth() const { return k / kSide; }
  std::int64_t rows_of_pairs() const { return in_pairs ? 1 : 0; }  // Of a panel, behind the others.
};

// Where in y a row or column of the first part is: its place in the next part is kRun further on.
constexpr std::int64_t place_in_y(std::int64_t i) { return i / kRun * kGroup + i % kRun; }

constexpr std::int64_t round_up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit * unit;
}

}  // namespace hocket::kernel
