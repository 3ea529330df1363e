#include "data/labels.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hocket {
namespace {

constexpr std::size_t kMaxClasses = 1000;

// The distinct values in ascending order, or nothing where there are more than `limit`.
std::optional<std::vector<float>> distinct_values(std::span<const float> values, std::size_t limit) {
  std::vector<float> found;
  for (const float value : values) {
    const auto at = std::lower_bound(found.begin(), found.end(), value);
    if (at != found.end() && *at == value) continue;
    if (found.size() == limit) return std::nullopt;
    found.insert(at, value);
  }
  return found;
}

bool all_whole(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return value == std::trunc(value); });
}

Task deduced_task(const std::optional<std::vector<float>>& distinct) {
  if (!distinct || (distinct->size() > 2 && !all_whole(*distinct))) return Task::regression;
  return distinct->size() <= 2 ? Task::binary : Task::classification;
}

}  // namespace

LabelMap::LabelMap(std::string_view source, std::span<const float> values, std::optional<Task> task) {
  auto distinct = distinct_values(values, kMaxClasses);
  task_ = task ? *task : deduced_task(distinct);
  if (task_ == Task::regression) return;
  if (!distinct) {
    throw DataError("{}: expected at most {} distinct labels for {}, found more", source, kMaxClasses,
                    name_of(task_));
  }
  values_ = *std::move(distinct);
  if (task_ != Task::binary) return;
  if (values_.size() > 2) {
    throw DataError("{}: expected 2 distinct labels for a binary task, found {}", source, values_.size());
  }
  if (values_.size() == 1)
    values_ = values_[0] > 0 ? std::vector{0.0F, values_[0]} : std::vector{values_[0], 1.0F};
}

std::optional<float> LabelMap::find(float value) const {
  if (task_ == Task::regression) return value;
  const auto at = std::lower_bound(values_.begin(), values_.end(), value);
  if (at == values_.end() || *at != value) return std::nullopt;
  return static_cast<float>(at - values_.begin());
}

std::vector<std::string> LabelMap::names() const {
  std::vector<std::string> names;
  for (const float value : values_) names.push_back(fmt::format("{}", value));
  return names;
}

void LabelMap::encode(std::string_view source, std::span<float> values) const {
  for (std::size_t row = 0; row < values.size(); ++row) {
    const auto code = find(values[row]);
    if (!code) {
      throw DataError("{}: row {}: expected a label of the training data ({}), found {}", source, row + 1,
                      fmt::join(names(), ", "), values[row]);
    }
    values[row] = *code;
  }
}

std::optional<Task> parse_task(std::string_view text) {
  if (text == "auto") return std::nullopt;
  for (const Task task : {Task::classification, Task::binary, Task::regression}) {
    if (text == name_of(task)) return task;
  }
  throw ConfigError("option 'task': expected auto, binary, classification or regression, found '{}'", text);
}

Field label_field(Task task) {
  return {"label", task == Task::classification ? DType::i32 : DType::f32, {}, Packing::rows};
}

void gather_labels(std::span<const float> labels, std::span<const std::int64_t> indices, const Tensor& out) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const float label = labels[static_cast<std::size_t>(indices[i])];
    if (out.dtype() == DType::i32) {
      out.values<std::int32_t>()[i] = static_cast<std::int32_t>(label);
    } else {
      out.values<float>()[i] = label;
    }
  }
  zero_rows_from(out, static_cast<std::int64_t>(indices.size()));
}

}  // namespace hocket
