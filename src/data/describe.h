#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace hocket {

struct DataDescription {
  DataInfo info;
  std::int64_t samples = 0;             // How many were read for what follows.
  std::vector<std::int64_t> histogram;  // Of classes, or of symbols; empty for regression.
  double mean = 0, deviation = 0;       // Of the first field, as a model gets it.
  double label_mean = 0, label_low = 0, label_high = 0;
  double compression = 1;  // Entries of sparse rows for each that is stored.
};

// Reads up to `limit` samples, evenly spread, and sums them up. Throws DataError where one is bad.
DataDescription describe(const Dataset& dataset, std::int64_t limit = 1 << 18);

// The description as lines of text.
std::vector<std::string> to_lines(const DataDescription& description);

// Reads every sample and returns what is wrong, one line each, up to `limit` of them: files that cannot be
// decoded, numbers that are not finite, labels and columns out of range.
std::vector<std::string> check(const Dataset& dataset, std::size_t limit = 100);

}  // namespace hocket
