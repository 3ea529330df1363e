#pragma once

#include <utility>

#include "net/file_descriptor.h"
#include "net/stream.h"

namespace hocket {

// A connected, nonblocking, authenticated socket as a stream.
class TcpStream final : public Stream {
 public:
  explicit TcpStream(FileDescriptor socket) : socket_(std::move(socket)) {}

  std::size_t write_some(std::span<const std::byte> bytes) override;
  std::size_t read_some(std::span<std::byte> into) override;
  int fd() const override { return socket_.get(); }

 private:
  FileDescriptor socket_;
};

}  // namespace hocket
