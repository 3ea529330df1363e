#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/placement.h"

namespace hocket {

inline constexpr int kMostRanks = 1 << 20;

// The ranks of a job as a grid with named axes, as in "pp=2,dp=2,tp=4": the last axis varies fastest, so that
// its ranks are neighbours. A value type.
class Mesh {
 public:
  struct Axis {
    std::string name;
    int size = 1;
    bool operator==(const Axis&) const = default;
  };

  Mesh() = default;  // One rank.
  explicit Mesh(std::vector<Axis> axes) : axes_(std::move(axes)) {}

  // `workers` ranks (0: as many as the text says) as "dp=2,tp=2"; a missing dp is what is left over. Throws
  // ConfigError for an unknown axis, a size that is no positive number, or a product that is not `workers`.
  static Mesh parse(std::string_view text, int workers);

  const std::vector<Axis>& axes() const { return axes_; }
  int size() const;                          // Ranks.
  int size_of(std::string_view axis) const;  // 1 for an axis that the mesh does not have.

  AxisShare share(int rank, std::string_view axis) const;
  // The ranks that differ from `rank` along the axis alone, with itself, ascending.
  std::vector<int> members(int rank, std::string_view axis) const;

  Mesh without(std::string_view axis) const;
  int rank_without(int rank, std::string_view axis) const;  // Where `rank` is in without(axis).

  std::string text() const;  // As parse() reads it.
  bool operator==(const Mesh&) const = default;

 private:
  int stride_of(std::string_view axis) const;

  std::vector<Axis> axes_;
};

}  // namespace hocket
