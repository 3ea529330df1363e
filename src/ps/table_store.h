#pragma once

#include <cstdint>
#include <memory>

#include "ps/store.h"

namespace hocket {

// The rows of a sparse table whose ids hash to a range. A row is made by the first gradient for it, with
// values that are a function of (seed, id); reading one that is not there gives these values and makes
// nothing, so that replicas that are not read stay the same. Init::values is empty or what save() gave.
std::unique_ptr<Store> make_table_store(const Init& init);

// What so many rows of the table take, growth included.
std::size_t predicted_table_bytes(const RangeSpec& spec, std::size_t rows);

}  // namespace hocket
