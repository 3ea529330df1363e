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

FrameHeader expect_frame(std::span<const std::byte> bytes, std::uint32_t job, const Label& label,
                         std::size_t payload, const std::function<std::string(const Label&)>& text_of) {
  std::string fault;
  const auto header = parse_frame_header(bytes, job, fault);
  if (!header) throw FrameMismatch(fault);
  if (header->label != label || header->bytes != payload) {
    throw FrameMismatch(fmt::format("it called {} ({} B in this message), here it is {} ({} B)",
                                    text_of(header->label), header->bytes, text_of(label), payload));
  }
  return *header;
}

}  // namespace hocket
