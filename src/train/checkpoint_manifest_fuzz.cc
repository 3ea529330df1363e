#include "base/error.h"
#include "train/checkpoint_manifest.h"

namespace {

void check_runs(const hocket::TensorPart& part) {
  constexpr int kMost = 100;
  int runs = 0;
  for (hocket::PartRuns each(part); !each.is_over() && runs < kMost; each.next(), ++runs) {
    const auto& [begin, end, offset] = each.run();
    HOCKET_CHECK(0 <= begin && begin < end && end <= part.global.count());
    HOCKET_CHECK(0 <= offset && offset + (end - begin) <= part.count);
  }
}

}  // namespace

// Any bytes are either refused with a DataError or are exactly what the manifest they give is written as,
// with parts that lie in their tensors.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> text(reinterpret_cast<const std::byte*>(data), size);
  try {
    const hocket::Manifest manifest = hocket::parse_manifest(text, "input");
    const std::string again = hocket::render_manifest(manifest);
    HOCKET_CHECK(again == std::string_view(reinterpret_cast<const char*>(data), size));
    for (const hocket::PartRecord& record : manifest.parts) check_runs(record.part);
  } catch (const hocket::DataError&) {
  }
  return 0;
}
