#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/error.h"
#include "data/libsvm.h"

// LIBSVM text: parsed to rows that fit together, or refused with a DataError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const hocket::SparseRows rows = hocket::parse_libsvm("fuzz", {reinterpret_cast<const char*>(data), size});
    HOCKET_CHECK(rows.offsets.size() == rows.labels.size() + 1, "one row per label");
    HOCKET_CHECK(rows.offsets.back() == static_cast<std::int64_t>(rows.columns.size()),
                 "the last row ends at the end");
    HOCKET_CHECK(rows.values.empty() || rows.values.size() == rows.columns.size(), "one value per column");
    const hocket::LabelMap labels("fuzz", rows.labels, std::nullopt);
  } catch (const hocket::DataError&) {
  }
  return 0;
}
