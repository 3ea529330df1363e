#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "data/file.h"
#include "data/idx.h"

// An IDX file, plain or gzip: parsed, or refused with a DataError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    if (hocket::is_gzip(bytes)) {
      const hocket::Inflated inflated = hocket::gunzip("fuzz", bytes);
      hocket::parse_idx("fuzz", {inflated.data.get(), inflated.size});
    } else {
      hocket::parse_idx("fuzz", bytes);
    }
  } catch (const hocket::DataError&) {
  }
  return 0;
}
