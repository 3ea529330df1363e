#include "runtime/stored.h"

#include "base/error.h"

namespace hocket {

std::vector<int> stored_axes(int rank, Layout layout) {
  if (layout == Layout::channels_last) {
    HOCKET_CHECK(rank == 4, "a value of rank {} is stored channels_last", rank);
    return {0, 2, 3, 1};
  }
  std::vector<int> axes;
  for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Shape stored_shape(const ValueInfo& value) {
  IntList dims;
  for (const int axis : stored_axes(value.type.shape.rank(), value.layout))
    dims.push_back(value.type.shape[axis]);
  return Shape(dims);
}

Shape stored_for_broadcast(const ValueInfo& value, Layout layout) {
  if (value.layout == layout) return stored_shape(value);
  IntList dims(value.type.shape.begin(), value.type.shape.end());
  while (dims.size() < 4) dims.insert(dims.begin(), 1);
  if (dims[1] > 1 && dims[2] * dims[3] > 1) {
    throw ConfigError("{} {} spans channels and positions but is not stored as the images it broadcasts to",
                      value.name, to_string(value.type));
  }
  return {dims[0], dims[2], dims[3], dims[1]};
}

IntList stored_list(const IntList& list, Layout layout) {
  IntList result;
  for (const int axis : stored_axes(static_cast<int>(list.size()), layout)) {
    result.push_back(list[static_cast<std::size_t>(axis)]);
  }
  return result;
}

}  // namespace hocket
