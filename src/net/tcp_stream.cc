#include "net/tcp_stream.h"

#include "net/socket.h"

namespace hocket {

std::size_t TcpStream::write_some(std::span<const std::byte> bytes) {
  return send_some(socket_.get(), bytes);
}

std::size_t TcpStream::read_some(std::span<std::byte> into) { return receive_some(socket_.get(), into); }

}  // namespace hocket
