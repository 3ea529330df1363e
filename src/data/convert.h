#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"

namespace hocket {

// The formats that convert() writes: "idx" (images), "image-folder" (images, as PNG), "libsvm" (rows of
// numbers: sparse, dense, or with hashed categories).
const std::vector<std::string_view>& conversion_formats();

// Writes the parts of a data set to `out` and returns the files or folders made: for idx and image-folder a
// folder that `mnist:` and `image-folder:` read; for libsvm a file, with the test part beside it as `out`.t.
// Images get the pixels that they had before they were normalised. Throws ConfigError where the format does
// not fit, Error where the disk does not take it; a file is either whole or not there.
std::vector<std::filesystem::path> convert(const DataParts& parts, std::string_view format,
                                           const std::filesystem::path& out);

}  // namespace hocket
