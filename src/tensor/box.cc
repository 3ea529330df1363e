#include "tensor/box.h"

#include <cstring>

#include "base/error.h"

namespace hocket {
namespace {

// Calls copy(offset in whole, offset in part, bytes) for every row of the box.
template <typename Copy>
void for_each_row(const Tensor& whole, std::span<const std::int64_t> begin, const Tensor& part,
                  const Copy& copy) {
  const Shape &outer = whole.shape(), &inner = part.shape();
  HOCKET_CHECK(outer.rank() == inner.rank() && whole.dtype() == part.dtype(), "a box of another kind");
  for (int dim = 0; dim < outer.rank(); ++dim) {
    const std::int64_t first = begin[static_cast<std::size_t>(dim)];
    HOCKET_CHECK(first >= 0 && first + inner[dim] <= outer[dim], "a box that reaches out of its tensor");
  }
  const std::size_t element = size_of(whole.dtype());
  const std::int64_t row = inner.rank() == 0 ? 1 : inner.back();
  for (std::int64_t start = 0; start < inner.count(); start += row) {
    std::int64_t rest = start, offset = 0, stride = 1;
    for (int dim = inner.rank() - 1; dim >= 0; --dim) {
      offset += (begin[static_cast<std::size_t>(dim)] + rest % inner[dim]) * stride;
      rest /= inner[dim];
      stride *= outer[dim];
    }
    copy(static_cast<std::size_t>(offset) * element, static_cast<std::size_t>(start) * element,
         static_cast<std::size_t>(row) * element);
  }
}

}  // namespace

void copy_from_box(const Tensor& whole, std::span<const std::int64_t> begin, const Tensor& part) {
  for_each_row(whole, begin, part, [&](std::size_t from, std::size_t to, std::size_t bytes) {
    std::memcpy(part.bytes().data() + to, whole.bytes().data() + from, bytes);
  });
}

void copy_to_box(const Tensor& part, const Tensor& whole, std::span<const std::int64_t> begin) {
  for_each_row(whole, begin, part, [&](std::size_t to, std::size_t from, std::size_t bytes) {
    std::memcpy(whole.bytes().data() + to, part.bytes().data() + from, bytes);
  });
}

}  // namespace hocket
