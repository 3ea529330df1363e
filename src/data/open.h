#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"

namespace hocket {

// The data sets of a run, as the options --data and --test-data name them.
struct DataSpec {
  std::string data{};
  std::string test_data{};  // Empty: the test part of `data`, where it has one.
};

// Reads the data sets. What the training part fixes (classes, normalisation, columns) also holds for the test
// part. Throws ConfigError for an unknown kind or option, naming the nearest known one, and DataError for bad
// files.
DataParts open_dataset(const DataSpec& spec);

// A kind of data source, for help and lists.
struct DataKind {
  std::string_view name;
  std::string_view usage;
  std::string_view what;
  std::vector<std::string_view> options;
};

std::span<const DataKind> data_kinds();

}  // namespace hocket
