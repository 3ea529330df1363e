#include "base/error.h"
#include "ps/message_wire.h"

// Bytes of another node, or of nobody.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  hocket::KnownIds heard;
  try {
    const auto frame =
        hocket::decode_frame(std::make_shared<const std::vector<std::byte>>(bytes, bytes + size), {}, &heard);
    hocket::encode(frame);
  } catch (const hocket::NetError&) {
  }
  return 0;
}
