#include <cstdint>
#include <span>

#include "base/error.h"
#include "sync/sandblaster_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    hocket::encode(hocket::decode_sandblaster(std::as_bytes(std::span(data, size))));
  } catch (const hocket::NetError&) {
  }
  return 0;
}
