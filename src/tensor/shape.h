#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace hocket {

// The dimensions of a tensor, outermost first; at most kMaxRank of them. A scalar has none. A value type.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t back() const { return dims_[static_cast<std::size_t>(rank_ - 1)]; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }

  // The number of elements.
  std::int64_t count() const;
  // The product of the dimensions in [first, last).
  std::int64_t count(int first, int last) const;

  bool operator==(const Shape& other) const;

 private:
  int rank_ = 0;
  std::array<std::int64_t, kMaxRank> dims_{};
};

// As in "[128,1,28,28]".
std::string to_string(const Shape& shape);

}  // namespace hocket
