#pragma once

#include <filesystem>
#include <string>

namespace hocket {

// The last MiB of a log; nothing where there is none.
std::string end_of_file(const std::filesystem::path& file);

}  // namespace hocket
