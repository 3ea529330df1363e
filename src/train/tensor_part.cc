#include "train/tensor_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

namespace hocket {

TensorPart TensorPart::whole(std::string name, DType dtype, const Shape& shape) {
  const std::vector<std::int64_t> origin(static_cast<std::size_t>(shape.rank()), 0);
  return {std::move(name), dtype, shape, origin, shape, 0, shape.count()};
}

std::optional<std::uint64_t> find_byte_size(DType dtype, std::span<const std::int64_t> shape) {
  auto bytes = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t size : shape) {
    if (size != 0 && __builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  return is_empty ? 0 : static_cast<std::uint64_t>(bytes);
}

std::optional<std::string> find_flaw(const TensorPart& part) {
  const auto rank = static_cast<std::size_t>(part.global.rank());
  if (part.begin.size() != rank || part.shape.rank() != part.global.rank()) {
    return fmt::format("shape {}, begin [{}] and box {} differ in their dimensions", to_string(part.global),
                       fmt::join(part.begin, ","), to_string(part.shape));
  }
  for (int dim = 0; dim < part.global.rank(); ++dim) {
    const std::int64_t begin = part.begin[static_cast<std::size_t>(dim)], size = part.shape[dim];
    if (begin < 0 || size < 0 || begin > part.global[dim] || size > part.global[dim] - begin) {
      return fmt::format("the box {} at [{}] does not lie in {}", to_string(part.shape),
                         fmt::join(part.begin, ","), to_string(part.global));
    }
  }
  if (!find_byte_size(part.dtype, part.global)) return fmt::format("{} is too large", to_string(part.global));
  if (part.first < 0 || part.count < 0 || part.first > part.shape.count() ||
      part.count > part.shape.count() - part.first) {
    return fmt::format("{} elements from {} on are not in a box {}", part.count, part.first,
                       to_string(part.shape));
  }
  return std::nullopt;
}

PartRuns::PartRuns(const TensorPart& part)
    : part_(&part), outer_(part.shape.rank()), row_(1), stride_(1), at_(part.first) {
  while (outer_ > 0) {
    --outer_;
    row_ *= part.shape[outer_];
    if (part.shape[outer_] != part.global[outer_]) break;
    if (outer_ > 0) stride_ *= part.global[outer_];
  }
  find_run();
}

void PartRuns::next() {
  at_ += run_.end - run_.begin;
  find_run();
}

void PartRuns::find_run() {
  const std::int64_t end = part_->first + part_->count;
  if (at_ >= end) {
    run_ = {};
    return;
  }
  std::int64_t stride = stride_, rest = at_ / row_, begin = at_ % row_;
  for (int dim = outer_; dim >= 0 && part_->shape.rank() > 0; --dim) {
    std::int64_t index = part_->begin[static_cast<std::size_t>(dim)];
    if (dim < outer_) {
      index += rest % part_->shape[dim];
      rest /= part_->shape[dim];
    }
    begin += index * stride;
    stride *= part_->global[dim];
  }
  run_ = {begin, begin + std::min(row_ - at_ % row_, end - at_), at_ - part_->first};
}

void for_each_shared_run(const TensorPart& a, const TensorPart& b, const SharedRun& body) {
  PartRuns in_a(a), in_b(b);
  while (!in_a.is_over() && !in_b.is_over()) {
    const PartRuns::Run &x = in_a.run(), &y = in_b.run();
    const std::int64_t begin = std::max(x.begin, y.begin), end = std::min(x.end, y.end);
    if (begin < end) body(x.offset + begin - x.begin, y.offset + begin - y.begin, end - begin);
    (x.end < y.end ? in_a : in_b).next();
  }
}

// Runs are merged in ascending order: each must begin where the one before ended.
std::optional<CoverFlaw> find_cover_flaw(std::span<const TensorPart* const> parts) {
  const auto later = [](const PartRuns& a, const PartRuns& b) { return a.run().begin > b.run().begin; };
  std::priority_queue<PartRuns, std::vector<PartRuns>, decltype(later)> heads(later);
  for (const TensorPart* part : parts) {
    if (part->count > 0) heads.emplace(*part);
  }
  std::int64_t position = 0;
  while (!heads.empty()) {
    PartRuns head = heads.top();
    heads.pop();
    if (head.run().begin != position) {
      return CoverFlaw{std::min(position, head.run().begin), head.run().begin < position};
    }
    position = head.run().end;
    head.next();
    if (!head.is_over()) heads.push(head);
  }
  const bool is_full = parts.empty() || position == parts.front()->global.count();
  return is_full ? std::nullopt : std::optional(CoverFlaw{position, false});
}

}  // namespace hocket
