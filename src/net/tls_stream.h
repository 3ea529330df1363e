#pragma once

#include <memory>

#include "net/file_descriptor.h"
#include "net/job.h"
#include "net/stream.h"

struct ssl_st;

namespace hocket {

// TLS 1.3 with the job key as external pre-shared key, on a connected, nonblocking, authenticated socket. No
// certificates: whoever does not know the key cannot finish the handshake. The handshake runs inside
// establish(), or inside the first reads and writes.
class TlsStream final : public Stream {
 public:
  enum class Role { connecting, accepting };

  TlsStream(FileDescriptor socket, Role role, const JobKey& key);
  ~TlsStream() override;

  // Moves the handshake on; whether it is finished.
  bool establish();

  std::size_t write_some(std::span<const std::byte> bytes) override;
  std::size_t read_some(std::span<std::byte> into) override;
  int fd() const override { return socket_.get(); }

 private:
  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  [[noreturn]] void fail(int code) const;
  bool must_wait(int code) const;

  FileDescriptor socket_;
  int raw_socket_;  // Where OpenSSL's callbacks find it.
  JobKey secret_;
  std::unique_ptr<ssl_st, Free> ssl_;
};

}  // namespace hocket
