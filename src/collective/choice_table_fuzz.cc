#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "collective/choose.h"

// A frozen choice of algorithms: a table that its own text gives back, or refused with a ConfigError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const hocket::ChoiceTable table = hocket::ChoiceTable::parse(text, "fuzz");
    HOCKET_CHECK(hocket::ChoiceTable::parse(table.text(), "fuzz") == table, "another table comes back");
  } catch (const hocket::ConfigError&) {
  }
  return 0;
}
