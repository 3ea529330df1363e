#include "net/tcp_stream.h"

#include <algorithm>

#include "net/socket.h"

namespace hocket {

std::size_t TcpStream::write_some(std::span<const std::byte> bytes) {
  return send_some(socket_.get(), bytes);
}

std::size_t TcpStream::write_pieces(std::span<const std::span<const std::byte>> pieces) {
  return send_pieces(socket_.get(), pieces);
}

std::size_t TcpStream::read_some(std::span<std::byte> into) {
  if (into.empty()) return 0;
  if (begin_ == end_) {
    if (into.size() >= ahead_.size()) return receive_some(socket_.get(), into);
    const std::span<std::byte> pieces[] = {into, ahead_};
    const std::size_t arrived = receive_pieces(socket_.get(), pieces);
    const std::size_t wanted = std::min(arrived, into.size());
    begin_ = 0;
    end_ = arrived - wanted;
    return wanted;
  }
  const std::size_t n = std::min(into.size(), end_ - begin_);
  std::copy_n(ahead_.begin() + static_cast<std::ptrdiff_t>(begin_), n, into.begin());
  begin_ += n;
  return n;
}

}  // namespace hocket
