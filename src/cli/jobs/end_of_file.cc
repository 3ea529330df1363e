#include "cli/jobs/end_of_file.h"

#include <algorithm>
#include <fstream>

namespace hocket {

std::string end_of_file(const std::filesystem::path& file) {
  constexpr std::int64_t kMostBytes = 1 << 20;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return "";
  const std::int64_t size = in.tellg();
  const std::int64_t wanted = std::min(size, kMostBytes);
  std::string text(static_cast<std::size_t>(wanted), '\0');
  in.seekg(size - wanted);
  in.read(text.data(), wanted);
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

}  // namespace hocket
