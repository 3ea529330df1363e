#include <cstdint>
#include <span>

#include "base/error.h"
#include "net/control_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const hocket::ControlMessage message = hocket::decode(std::as_bytes(std::span(data, size)));
    hocket::encode(message);
  } catch (const hocket::NetError&) {
  }
  return 0;
}
