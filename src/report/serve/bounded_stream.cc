#include "report/serve/bounded_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "net/stream.h"

namespace hocket {

BoundedStream::BoundedStream(FileDescriptor socket) : socket_(std::move(socket)) {}

// Whatever the client has sent beyond its request is taken, or closing would take the answer back.
BoundedStream::~BoundedStream() {
  ::shutdown(socket_.get(), SHUT_WR);
  while (::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT) > 0) {
  }
}

bool BoundedStream::is_readable() const {
  return begin_ < end_ || wait_for(socket_.get(), POLLIN, read_until_);
}

bool BoundedStream::is_writable() const { return wait_for(socket_.get(), POLLOUT, after(kWriteTime)); }

ssize_t BoundedStream::read(char* into, std::size_t size) {
  if (begin_ == end_) {
    if (end_ == buffer_.size() || !wait_for(socket_.get(), POLLIN, read_until_)) return -1;
    const ssize_t received =
        ::recv(socket_.get(), buffer_.data() + end_, buffer_.size() - end_, MSG_DONTWAIT);
    if (received <= 0) return received;
    end_ += static_cast<std::size_t>(received);
  }
  const std::size_t count = std::min(size, end_ - begin_);
  std::memcpy(into, buffer_.data() + begin_, count);
  begin_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t BoundedStream::write(const char* from, std::size_t size) {
  const TimePoint until = after(kWriteTime);
  std::size_t sent = 0;
  while (sent < size) {
    if (!wait_for(socket_.get(), POLLOUT, until)) return -1;
    const ssize_t moved = ::send(socket_.get(), from + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (moved < 0 && errno != EAGAIN && errno != EINTR) return -1;
    sent += static_cast<std::size_t>(std::max<ssize_t>(0, moved));
  }
  return static_cast<ssize_t>(size);
}

void BoundedStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  const Endpoint endpoint = remote_endpoint(socket_.get());
  ip = endpoint.address;
  port = endpoint.port;
}

void BoundedStream::get_local_ip_and_port(std::string& ip, int& port) const {
  const Endpoint endpoint = local_endpoint(socket_.get());
  ip = endpoint.address;
  port = endpoint.port;
}

}  // namespace hocket
