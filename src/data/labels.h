#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace hocket {

// What the label values of a training file mean: two distinct ones are binary (the larger is 1), up to 1,000
// whole ones are classes in ascending order, anything else is regression. A value type.
class LabelMap {
 public:
  // Deduces the task from the values unless `task` gives it; `source` is for messages. Throws DataError.
  LabelMap(std::string_view source, std::span<const float> values, std::optional<Task> task);

  Task task() const { return task_; }
  std::int64_t classes() const {
    return task_ == Task::regression ? 0 : static_cast<std::int64_t>(values_.size());
  }
  // The number that a model learns for `value`, or nothing where the training file does not have it.
  std::optional<float> find(float value) const;
  // The values in ascending order, for messages and as names of classes.
  std::vector<std::string> names() const;

  // Replaces each value by find(value). Throws DataError that names `source` and the row, counted from 1.
  void encode(std::string_view source, std::span<float> values) const;

 private:
  Task task_;
  std::vector<float> values_;  // Distinct, ascending; empty for regression.
};

// The value of the option "task", or nothing for "auto". Throws ConfigError.
std::optional<Task> parse_task(std::string_view text);

// The field "label" of `task`.
Field label_field(Task task);

// Writes the labels of `indices` to `out` in the dtype of the field, and zeroes the rows after them.
void gather_labels(std::span<const float> labels, std::span<const std::int64_t> indices, const Tensor& out);

}  // namespace hocket
