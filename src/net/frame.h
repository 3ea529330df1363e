#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "net/transport.h"

namespace hocket {

inline constexpr std::uint32_t kFrameMagic = 0x544b4348;  // "HCKT" in little-endian memory.
inline constexpr std::uint32_t kWireVersion = 1;

// What stands before every message on a stream, as it lies in memory (little-endian machines only). The
// payload follows, padded with zeros to kFramePadding bytes.
struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  std::uint32_t version = kWireVersion;
  std::uint32_t job = 0;            // The lower half of its id.
  std::uint32_t carried_after = 0;  // Emulated links: this long after posted_at, in tenths of a microsecond.
  std::int64_t posted_at = 0;       // Emulated links: nanoseconds of the steady clock.
  std::uint64_t bytes = 0;          // Of the payload.
  Label label;
};
static_assert(sizeof(FrameHeader) == 64);

inline constexpr std::size_t kFramePadding =
    16;  // Keeps elements of every dtype whole in a ring that wraps around.

// The header in `bytes` (64 of them), or nothing and why in `fault`: not ours, another version, another job.
std::optional<FrameHeader> parse_frame_header(std::span<const std::byte> bytes, std::uint32_t job,
                                              std::string& fault);

// The peer sent something else than was expected; what() says both.
class FrameMismatch final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The header in `bytes`, which must announce `payload` bytes labelled `label`. Throws FrameMismatch, with the
// labels as `text_of` reads them.
FrameHeader expect_frame(std::span<const std::byte> bytes, std::uint32_t job, const Label& label,
                         std::size_t payload, const std::function<std::string(const Label&)>& text_of);

}  // namespace hocket
