#include "net/frame.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"

namespace hocket {

std::optional<FrameHeader> parse_frame_header(std::span<const std::byte> bytes, std::uint32_t job,
                                              std::string& fault) {
  FrameHeader header;
  HOCKET_CHECK(bytes.size() == sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kFrameMagic) {
    fault = fmt::format("a frame begins with {:08x}, expected {:08x}", header.magic, kFrameMagic);
  } else if (header.version != kWireVersion) {
    fault = fmt::format("a frame of protocol version {}, expected {}", header.version, kWireVersion);
  } else if (header.job != job) {
    fault = fmt::format("a frame of job {:08x}, expected {:08x}", header.job, job);
  } else {
    return header;
  }
  return std::nullopt;
}

}  // namespace hocket
