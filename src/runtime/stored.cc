#include "runtime/stored.h"

#include <numeric>

#include "base/error.h"

namespace hocket {

std::vector<int> stored_axes(int rank, Layout layout) {
  if (layout == Layout::channels_last) {
    HOCKET_CHECK(rank == 4, "a value of rank {} is stored channels_last", rank);
    return {0, 2, 3, 1};
  }
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Shape stored_shape(const ValueInfo& value) {
  IntList dims;
  for (const int axis : stored_axes(value.type.shape.rank(), value.layout))
    dims.push_back(value.type.shape[axis]);
  return Shape(dims);
}

namespace {

// (1, …, 1, dimensions of the value): four of them.
Shape as_image(const Shape& shape) {
  Shape image{1, 1, 1, 1};
  for (int axis = 0; axis < shape.rank(); ++axis) image[4 - shape.rank() + axis] = shape[axis];
  return image;
}

}  // namespace

bool must_reorder(const ValueInfo& value, Layout layout) {
  if (value.layout == layout) return false;
  const Shape image = as_image(value.type.shape);
  return image[1] > 1 && image[2] * image[3] > 1;
}

Shape stored_for_broadcast(const ValueInfo& value, Layout layout) {
  if (value.layout == layout) return stored_shape(value);
  const Shape image = as_image(value.type.shape);
  return {image[0], image[2], image[3], image[1]};
}

IntList stored_list(const IntList& list, Layout layout) {
  IntList result;
  for (const int axis : stored_axes(static_cast<int>(list.size()), layout)) {
    result.push_back(list[static_cast<std::size_t>(axis)]);
  }
  return result;
}

}  // namespace hocket
