// Whatever an agent or the coordinator is sent: a message or a NetError.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "jobs/job_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto bytes = std::as_bytes(std::span(data, size));
    const hocket::JobMessage message = hocket::decode_job_message(bytes);
    HOCKET_CHECK(hocket::encode(message).size() == size);
  } catch (const hocket::NetError&) {
  }
  return 0;
}
