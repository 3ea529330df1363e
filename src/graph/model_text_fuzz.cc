// Model files: any bytes are read or refused with ConfigError, and what is read prints to text that reads
// back.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "graph/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t kBatch = 4;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string printed;
  try {
    printed = hocket::print_text(*hocket::parse_text(text, "fuzz", kBatch));
  } catch (const hocket::ConfigError&) {
    return 0;
  }
  const std::string again = hocket::print_text(*hocket::parse_text(printed, "printed", kBatch));
  HOCKET_CHECK(again == printed, "{}", printed);
  return 0;
}
