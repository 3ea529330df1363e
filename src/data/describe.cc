#include "data/describe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "data/sparse_dataset.h"

namespace hocket {
namespace {

constexpr std::int64_t kDescribedBatch = 64;

// The elements of `tensor` that belong to the `count` samples of a batch; `batch` also has the offsets of
// packed rows.
std::int64_t used_elements(const DataInfo& info, const Batch& batch, std::size_t field, std::int64_t count) {
  const Tensor& tensor = batch.fields[field];
  if (info.fields[field].packing == Packing::packed) {
    const std::size_t offsets = field_index(info, "offsets");
    return batch.fields[offsets].values<std::int32_t>()[static_cast<std::size_t>(count)];
  }
  return count * tensor.shape().count(1, tensor.shape().rank());
}

double element(const Tensor& tensor, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  return tensor.dtype() == DType::i32 ? tensor.values<std::int32_t>()[at]
                                      : static_cast<double>(tensor.values<float>()[at]);
}

struct FieldMoments {
  double count = 0, sum = 0, square_sum = 0;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    count += 1;
    sum += value;
    square_sum += value * value;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double mean() const { return count == 0 ? 0 : sum / count; }
  double deviation() const {
    return count == 0 ? 0 : std::sqrt(std::max(0.0, square_sum / count - mean() * mean()));
  }
};

// What is wrong with the samples of a batch, if anything.
std::optional<std::string> find_fault(const DataInfo& info, const Batch& batch, std::int64_t count) {
  for (std::size_t f = 0; f < info.fields.size(); ++f) {
    const Field& field = info.fields[f];
    if (field.packing == Packing::offsets) continue;
    double high = std::numeric_limits<double>::infinity();
    if (field.name == "label" && info.task != Task::regression) high = static_cast<double>(info.classes - 1);
    if (field.name == "columns" || field.name == "category") high = static_cast<double>(info.features - 1);
    const double low = std::isinf(high) ? -high : 0;
    for (std::int64_t i = 0; i < used_elements(info, batch, f, count); ++i) {
      const double value = element(batch.fields[f], i);
      if (!std::isfinite(value) || value < low || value > high) {
        return fmt::format(
            "{}: expected {}, found {}", field.name,
            std::isinf(high) ? std::string("a finite number") : fmt::format("{} to {}", low, high), value);
      }
    }
  }
  return std::nullopt;
}

// The fault of one sample, by reading it alone.
std::optional<std::string> check_sample(const Dataset& dataset, std::int64_t index, const Batch& batch) {
  try {
    dataset.gather({&index, 1}, 0, batch.fields);
  } catch (const DataError& error) {
    return error.what();
  }
  const auto fault = find_fault(dataset.info(), batch, 1);
  return fault ? std::optional(fmt::format("sample {}: {}", index, *fault)) : std::nullopt;
}

bool is_batch_good(const Dataset& dataset, std::span<const std::int64_t> indices, const Batch& batch) {
  try {
    dataset.gather(indices, 0, batch.fields);
  } catch (const DataError&) {
    return false;
  }
  return !find_fault(dataset.info(), batch, static_cast<std::int64_t>(indices.size()));
}

std::string describe_field(const Field& field) {
  if (field.packing == Packing::offsets) return fmt::format("{} {}", field.name, name_of(field.dtype));
  if (field.packing == Packing::packed) {
    return fmt::format("{} {}, up to {} a sample", field.name, name_of(field.dtype), field.shape[0]);
  }
  const std::string shape = field.shape.rank() == 0 ? "" : to_string(field.shape);
  return fmt::format("{} {}{}", field.name, name_of(field.dtype), shape);
}

std::string class_line(const DataDescription& description, std::size_t index) {
  const auto& names = description.info.class_names;
  const bool has_name = index < names.size() && names[index] != std::to_string(index);
  const std::string name = has_name ? " " + names[index] : "";
  const double share =
      100.0 * static_cast<double>(description.histogram[index]) / static_cast<double>(description.samples);
  return fmt::format("  class {}{}: {} ({:.1f} %)", index, name, description.histogram[index], share);
}

}  // namespace

DataDescription describe(const Dataset& dataset, std::int64_t limit) {
  const DataInfo& info = dataset.info();
  DataDescription result;
  result.info = info;
  result.samples = std::min(limit, info.size);
  result.histogram.resize(static_cast<std::size_t>(info.classes));
  const Batch batch = make_batch(info, kDescribedBatch);
  FieldMoments inputs;
  FieldMoments labels;
  std::vector<std::int64_t> indices;
  for (std::int64_t first = 0; first < result.samples; first += kDescribedBatch) {
    const std::int64_t count = std::min(kDescribedBatch, result.samples - first);
    indices.clear();
    for (std::int64_t i = first; i < first + count; ++i) indices.push_back(i * info.size / result.samples);
    dataset.gather(indices, 0, batch.fields);
    const Tensor& input = batch.fields.front();
    const Tensor& label = batch.fields.back();
    for (std::int64_t i = 0; i < used_elements(info, batch, 0, count); ++i) inputs.add(element(input, i));
    for (std::int64_t i = 0; i < used_elements(info, batch, info.fields.size() - 1, count); ++i) {
      labels.add(element(label, i));
      if (info.classes > 0) ++result.histogram.at(static_cast<std::size_t>(element(label, i)));
    }
  }
  result.mean = inputs.mean();
  result.deviation = inputs.deviation();
  result.label_mean = labels.mean();
  result.label_low = labels.low;
  result.label_high = labels.high;
  if (const auto* sparse = dynamic_cast<const SparseDataset*>(&dataset))
    result.compression = sparse->compression();
  return result;
}

std::vector<std::string> to_lines(const DataDescription& description) {
  constexpr std::size_t kMaxClassLines = 20;
  const DataInfo& info = description.info;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: {}, {} samples, {:.1f} MiB in memory", info.name, name_of(info.task),
                              info.size, static_cast<double>(info.bytes) / (1 << 20)));
  for (const Field& field : info.fields) lines.push_back("  " + describe_field(field));
  if (info.features > 0) {
    lines.push_back(
        fmt::format("  {} {}", info.features, info.max_nonzeros > 0 ? "columns" : "buckets of categories"));
  }
  if (description.compression > 1) {
    lines.push_back(fmt::format("  rows share what they begin with: {:.2f} entries for each that is stored",
                                description.compression));
  }
  lines.push_back(fmt::format("  {}: mean {:.4f}, deviation {:.4f} over {} samples", info.fields.front().name,
                              description.mean, description.deviation, description.samples));
  if (info.task == Task::regression) {
    lines.push_back(fmt::format("  label: mean {:.4f}, from {:.4f} to {:.4f}", description.label_mean,
                                description.label_low, description.label_high));
  } else if (info.task == Task::language) {
    const auto used = std::count_if(description.histogram.begin(), description.histogram.end(),
                                    [](auto n) { return n > 0; });
    lines.push_back(fmt::format("  {} of {} symbols occur", used, info.classes));
  } else {
    const std::size_t shown = std::min(kMaxClassLines, description.histogram.size());
    for (std::size_t i = 0; i < shown; ++i) lines.push_back(class_line(description, i));
    if (shown < description.histogram.size())
      lines.push_back(fmt::format("  … {} classes", description.histogram.size()));
  }
  return lines;
}

std::vector<std::string> check(const Dataset& dataset, std::size_t limit) {
  std::vector<std::string> problems;
  const std::int64_t size = dataset.info().size;
  const Batch batch = make_batch(dataset.info(), kDescribedBatch);
  for (std::int64_t first = 0; first < size && problems.size() < limit; first += kDescribedBatch) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(std::min(kDescribedBatch, size - first)));
    std::iota(indices.begin(), indices.end(), first);
    if (is_batch_good(dataset, indices, batch)) continue;
    for (const std::int64_t index : indices) {
      const auto problem = check_sample(dataset, index, batch);
      if (problem && problems.size() < limit) problems.push_back(*problem);
    }
  }
  return problems;
}

}  // namespace hocket
