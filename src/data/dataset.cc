#include "data/dataset.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace hocket {

std::string_view name_of(Task task) {
  constexpr std::array<std::string_view, 4> kNames{"classification", "language", "binary", "regression"};
  return kNames[static_cast<std::size_t>(task)];
}

Shape batch_shape(const Field& field, std::int64_t capacity) {
  if (field.packing == Packing::packed) return {capacity * field.shape[0]};
  if (field.packing == Packing::offsets) return {capacity + 1};
  std::vector<std::int64_t> dims{capacity};
  dims.insert(dims.end(), field.shape.begin(), field.shape.end());
  return Shape(dims);
}

std::size_t field_index(const DataInfo& info, std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < info.fields.size(); ++i) {
    if (info.fields[i].name == name) return i;
    known += (i == 0 ? "" : ", ") + info.fields[i].name;
  }
  throw ConfigError("data {} has no field '{}'; its fields are {}", info.name, name, known);
}

Batch make_batch(const DataInfo& info, std::int64_t capacity) {
  Batch batch;
  for (const Field& field : info.fields) {
    const Shape shape = batch_shape(field, capacity);
    if (field.packing == Packing::packed && shape[0] > std::numeric_limits<std::int32_t>::max()) {
      throw ConfigError(
          "data {}: a batch of {} rows with up to {} entries each is too large for 32-bit offsets", info.name,
          capacity, field.shape[0]);
    }
    batch.fields.emplace_back(field.dtype, shape);
  }
  batch.weight = Tensor(DType::f32, {capacity});
  return batch;
}

void zero_rows_from(const Tensor& tensor, std::int64_t count) {
  const std::size_t row_bytes =
      tensor.byte_size() / static_cast<std::size_t>(std::max<std::int64_t>(1, tensor.shape()[0]));
  const auto bytes = tensor.bytes().subspan(row_bytes * static_cast<std::size_t>(count));
  if (!bytes.empty()) std::memset(bytes.data(), 0, bytes.size());
}

}  // namespace hocket
