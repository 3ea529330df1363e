#pragma once

#include <httplib.h>

#include <array>

#include "net/file_descriptor.h"
#include "net/socket.h"

namespace hocket {

// One connection of the HTTP server. A request must be here within kReadTime, whole, and within kMostBytes,
// however slowly it trickles; the answer must be taken within kWriteTime. Used by one thread.
class BoundedStream final : public httplib::Stream {
 public:
  static constexpr Seconds kReadTime{2.0};
  static constexpr Seconds kWriteTime{10.0};
  static constexpr std::size_t kMostBytes = 16 << 10;

  explicit BoundedStream(FileDescriptor socket);
  ~BoundedStream() override;

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* into, std::size_t size) override;  // 0 at the end, -1 when it takes too long.
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_.get(); }

 private:
  FileDescriptor socket_;
  TimePoint read_until_ = after(kReadTime);
  std::array<char, kMostBytes> buffer_{};
  std::size_t begin_ = 0;  // Of what was received and not yet read.
  std::size_t end_ = 0;
};

}  // namespace hocket
