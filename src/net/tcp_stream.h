#pragma once

#include <array>
#include <utility>

#include "net/file_descriptor.h"
#include "net/stream.h"

namespace hocket {

// A connected, nonblocking, authenticated socket as a stream. Every call of the kernel brings along what
// follows the bytes that are wanted, so that a small message takes one.
class TcpStream final : public Stream {
 public:
  explicit TcpStream(FileDescriptor socket) : socket_(std::move(socket)) {}

  std::size_t write_some(std::span<const std::byte> bytes) override;
  std::size_t write_pieces(std::span<const std::span<const std::byte>> pieces) override;
  std::size_t read_some(std::span<std::byte> into) override;
  int fd() const override { return socket_.get(); }

 private:
  FileDescriptor socket_;
  std::array<std::byte, 4096> ahead_;  // Bytes [begin_, end_) have arrived and not been wanted yet.
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace hocket
