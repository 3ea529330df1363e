#include "net/call.h"

#include "base/error.h"
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
  PendingCall pending(endpoint, key, hello, plaintext, deadline);
  while (true) {
    if (auto stream = pending.progress(Clock::now())) return stream;
    const pollfd poll = pending.to_poll();
    wait_for(poll.fd, poll.events, deadline);
  }
}

PendingCall::PendingCall(const Endpoint& endpoint, const JobKey& key, Hello hello, bool plaintext,
                         TimePoint deadline)
    : socket_(connect_to(endpoint, deadline)),
      key_(key),
      is_encrypted_(!plaintext && !is_within_host(socket_.get())),
      deadline_(deadline),
      handshake_(Handshake::connecting(key, [&] {
        hello.is_encrypted = is_encrypted_;
        return hello;
      }())) {}

pollfd PendingCall::to_poll() const {
  const int events = handshake_.outgoing().empty() ? POLLIN : POLLIN | POLLOUT;
  return {socket_.get(), static_cast<short>(events), 0};
}

std::unique_ptr<Stream> PendingCall::progress(TimePoint now) {
  if (advance(handshake_, socket_.get()))
    return stream_of(std::move(socket_), is_encrypted_, TlsStream::Role::connecting, key_);
  if (now >= deadline_) throw NetError("the other end does not answer the handshake");
  return nullptr;
}

std::unique_ptr<Stream> answer(Accepted accepted, const JobKey& key) {
  const bool is_encrypted = accepted.hello.is_encrypted;
  return stream_of(std::move(accepted.socket), is_encrypted, TlsStream::Role::accepting, key);
}

}  // namespace hocket
