#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "data/table.h"

// CSV text: its columns found out and its rows read by them, or refused with a DataError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const hocket::TableSchema schema = hocket::infer_schema("fuzz", text, {});
    const hocket::Table table = hocket::read_table("fuzz", text, schema);
    const std::size_t rows = table.labels.size();
    HOCKET_CHECK(table.numeric.size() == rows * schema.count(hocket::ColumnKind::numeric), "numeric columns");
    HOCKET_CHECK(table.category.size() == rows * schema.count(hocket::ColumnKind::categorical),
                 "categorical columns");
  } catch (const hocket::DataError&) {
  }
  return 0;
}
