#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ps/store.h"

namespace hocket {

// The rows of a sparse table whose ids hash to a range. A row is made by the first gradient for it, with
// values that are a function of (seed, id); reading one that is not there gives these values and makes
// nothing, so that replicas that are not read stay the same. Init::values is empty or what save() gave.
std::unique_ptr<Store> make_table_store(const Init& init);

// What save() of a table gives that holds these rows: their values, and the state of their optimizer, row by
// row, or nothing: zero. How training goes on from a checkpoint. Throws NetError where they do not fit.
std::vector<std::byte> encode_table(const RangeSpec& spec, std::span<const std::uint64_t> ids,
                                    std::span<const std::byte> values, std::span<const std::byte> state);

// Calls `take` with the id of each row that save() has written, and its values and slots. Throws NetError for
// bytes that are no such table.
using TakeRow = std::function<void(std::uint64_t id, std::span<const std::byte> payload)>;
void decode_table(const RangeSpec& spec, std::span<const std::byte> bytes, const TakeRow& take);

// What so many rows of the table take, growth included.
std::size_t predicted_table_bytes(const RangeSpec& spec, std::size_t rows);

}  // namespace hocket
