#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/source.h"

namespace hocket {

// Adds the records of a CIFAR-10 binary batch (a label byte, then 3×32×32 pixels) to `labels` and `pixels`;
// `name` is for messages. Throws DataError.
void parse_cifar(std::string_view name, std::span<const std::byte> bytes, std::vector<std::int32_t>& labels,
                 std::vector<std::uint8_t>& pixels);

// The binary version of CIFAR-10 in a folder, or in its subfolder cifar-10-batches-bin: data_batch_1.bin …
// data_batch_5.bin for training (those there are) and test_batch.bin (may be absent).
DataParts open_cifar10(const DataSource& source);

}  // namespace hocket
