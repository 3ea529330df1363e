#include "net/call.h"

#include "net/tcp_stream.h"
#include "net/tls_stream.h"

namespace hocket {
namespace {

std::unique_ptr<Stream> stream_of(FileDescriptor socket, bool is_encrypted, TlsStream::Role role,
                                  const JobKey& key) {
  if (!is_encrypted) return std::make_unique<TcpStream>(std::move(socket));
  return std::make_unique<TlsStream>(std::move(socket), role, key);
}

}  // namespace

std::unique_ptr<Stream> call(const Endpoint& endpoint, const JobKey& key, Hello hello, bool plaintext,
                             TimePoint deadline) {
  FileDescriptor socket = connect_to(endpoint, deadline);
  hello.is_encrypted = !plaintext && !is_within_host(socket.get());
  Handshake handshake = Handshake::connecting(key, hello);
  complete(handshake, socket.get(), deadline);
  return stream_of(std::move(socket), hello.is_encrypted, TlsStream::Role::connecting, key);
}

std::unique_ptr<Stream> answer(Accepted accepted, const JobKey& key) {
  const bool is_encrypted = accepted.hello.is_encrypted;
  return stream_of(std::move(accepted.socket), is_encrypted, TlsStream::Role::accepting, key);
}

}  // namespace hocket
