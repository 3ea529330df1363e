#include <cstdint>
#include <span>

#include "net/authenticate.h"

// Bytes of a stranger, to the parser and to both ends of the handshake.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const hocket::Hello hello = hocket::parse_hello(bytes);
    if (!(hocket::parse_hello(hocket::encode(hello)) == hello)) __builtin_trap();
  } catch (const hocket::Refused&) {
  }
  hocket::Handshake ends[] = {hocket::Handshake::connecting({}, {}), hocket::Handshake::accepting({}, 0)};
  for (hocket::Handshake& end : ends) {
    try {
      auto left = bytes;
      while (!left.empty() && end.wanted() > 0) {
        const auto piece = left.first(std::min(left.size(), end.wanted()));
        end.take(piece);
        left = left.subspan(piece.size());
      }
    } catch (const hocket::Refused&) {
    }
    if (end.is_done()) __builtin_trap();  // Nobody guesses a MAC.
  }
  return 0;
}
