#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace hocket {

// Elements [first, first + count), row by row, of the box of `shape` at `begin` of a named tensor: what a
// rank has of it, or a file of a checkpoint. A value type.
struct TensorPart {
  std::string name;
  DType dtype = DType::f32;
  Shape global;  // Of the whole tensor.
  std::vector<std::int64_t> begin;
  Shape shape;
  std::int64_t first = 0;
  std::int64_t count = 0;

  static TensorPart whole(std::string name, DType dtype, const Shape& shape);
  bool is_whole() const { return shape == global && is_box(); }
  bool is_box() const { return count == shape.count(); }
  Shape own_shape() const { return is_box() ? shape : Shape{count}; }  // Of its elements alone.
  bool operator==(const TensorPart&) const = default;
};

// Why the numbers of a part cannot be true, if so; a part without a flaw is safe for all that follows.
// Dimensions are as many as a Shape can have.
std::optional<std::string> find_flaw(const TensorPart& part);

// The bytes of a tensor; none where they, or the product of some of its dimensions, overflow. Dimensions are
// not negative.
std::optional<std::uint64_t> find_byte_size(DType dtype, std::span<const std::int64_t> shape);

// The longest stretches of a part that also lie together in the whole tensor, in ascending order.
class PartRuns {
 public:
  struct Run {
    std::int64_t begin = 0;  // Elements [begin, end) of the whole tensor
    std::int64_t end = 0;
    std::int64_t offset = 0;  // are those from here on of the part.
  };

  explicit PartRuns(const TensorPart& part);  // Which must outlive it.
  bool is_over() const { return run_.begin == run_.end; }
  const Run& run() const { return run_; }
  void next();

 private:
  void find_run();

  const TensorPart* part_;
  int outer_;            // The dimensions before this one count the runs of the box,
  std::int64_t row_;     // each of so many elements.
  std::int64_t stride_;  // Of dimension outer_ in the whole tensor.
  std::int64_t at_;      // In the box.
  Run run_;
};

// Calls `body` with every stretch that two parts of one tensor share: offsets in both, and elements.
using SharedRun = std::function<void(std::int64_t in_a, std::int64_t in_b, std::int64_t count)>;
void for_each_shared_run(const TensorPart& a, const TensorPart& b, const SharedRun& body);

// The first element of a tensor that not exactly one of its parts has.
struct CoverFlaw {
  std::int64_t element = 0;
  bool is_twice = false;  // Else no part has it.
};
std::optional<CoverFlaw> find_cover_flaw(std::span<const TensorPart* const> parts);

}  // namespace hocket
