#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace hocket {

// What a data set asks of a model, and with it the type of "label":
// classification i32 in [0, classes); language i32[T], the next symbols; binary f32, 0 or 1; regression f32.
enum class Task { classification, language, binary, regression };

std::string_view name_of(Task task);

// How the samples of a batch lie in the tensor of a field.
enum class Packing {
  rows,     // [capacity, shape…]: one row per sample.
  packed,   // [capacity * shape[0]]: rows of different lengths, one after the other (CSR values and columns).
  offsets,  // [capacity + 1]: where each packed row starts; the last entry is where the last one ends.
};

// One tensor of a sample, as the model's graph names it: "image" f32[C,H,W]; "tokens" i32[T]; "features"
// f32[D]; "numeric" f32[D] with "category" i32[F]; "values" f32, "columns" i32 and "offsets" i32 of sparse
// rows; and always, as the last one, "label". `shape` is that of one sample; of a packed field it is the
// longest row.
struct Field {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  Packing packing = Packing::rows;
};

// The shape of the tensor that holds `field` for up to `capacity` samples.
Shape batch_shape(const Field& field, std::int64_t capacity);

struct DataInfo {
  std::string name;
  Task task = Task::classification;
  std::int64_t classes = 0;            // Of a label; 2 for binary, 0 for regression.
  std::vector<Field> fields;           // The inputs, then "label".
  std::int64_t size = 0;               // Number of samples.
  std::int64_t features = 0;           // Sparse rows: number of columns. Categories: number of hash buckets.
  std::int64_t max_nonzeros = 0;       // Sparse rows: entries of the longest row.
  std::int64_t bytes = 0;              // Memory the samples take.
  std::vector<float> mean, deviation;  // Images: per channel, of pixels in [0, 1]; removed by gather().
  std::vector<std::string> class_names{};  // As the file writes them; empty where classes have no names.
};

// The position of the field called `name`; throws ConfigError, naming the fields there are.
std::size_t field_index(const DataInfo& info, std::string_view name);

// Samples in memory or decoded on demand. Immutable and thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const DataInfo& info() const = 0;

  // Writes the samples `indices` as the first rows of `out`, one tensor per field, shaped by batch_shape();
  // the rows after them are zeroed. `epoch` chooses the variant where samples vary (augmentation, text
  // windows). Throws DataError where a sample that is decoded on demand turns out to be bad.
  virtual void gather(std::span<const std::int64_t> indices, std::int64_t epoch,
                      std::span<const Tensor> out) const = 0;
};

// Samples side by side, as a step takes them.
struct Batch {
  std::vector<Tensor> fields;     // In the order of DataInfo::fields.
  Tensor weight;                  // f32[capacity]: 1 for a sample, 0 for padding.
  std::int64_t count = 0;         // Samples in this batch.
  std::int64_t global_count = 0;  // Samples in the batches of all ranks together.
  std::int64_t epoch = 0;
  std::int64_t first = 0;   // Position in the epoch of the first sample of the global batch.
  std::int64_t offset = 0;  // Samples of the global batch that lower ranks have.
};

// An empty batch with room for `capacity` samples.
Batch make_batch(const DataInfo& info, std::int64_t capacity);

// Sets the rows of `tensor` from `count` on to zero.
void zero_rows_from(const Tensor& tensor, std::int64_t count);

}  // namespace hocket
