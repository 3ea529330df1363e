#pragma once

#include <string_view>

#include "data/source.h"
#include "data/sparse_dataset.h"

namespace hocket {

// Reads LIBSVM text: one row a line, `label index:value …`, indices from 1 and ascending, `#` starts a
// comment. Labels are left as they are in the file; `name` is for messages. Throws DataError with the line.
SparseRows parse_libsvm(std::string_view name, std::string_view text);

// A LIBSVM file, plain or gzip, and, where `test` is not null, a second one with the labels and columns of
// the first: entries in columns that the training file does not have are left out, as no weight can have been
// learnt for them. Options: task (auto), features (as many as the file has).
DataParts open_libsvm(const DataSource& source, const DataSource* test);

}  // namespace hocket
