#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "data/augment.h"
#include "data/source.h"

// What a user types as --data or --augment: read, or refused with a ConfigError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const hocket::DataSource source = hocket::parse_source(text);
    HOCKET_CHECK(source.text == text, "the text is kept");
    hocket::parse_augment(text, 10, 0);
  } catch (const hocket::ConfigError&) {
  }
  return 0;
}
