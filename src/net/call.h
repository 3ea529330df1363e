#pragma once

#include <memory>

#include "net/authenticate.h"
#include "net/listener.h"
#include "net/socket.h"
#include "net/stream.h"

namespace hocket {

// A connection to a Listener of the job, authenticated and, between hosts unless `plaintext`, encrypted: TLS
// then runs in the first reads and writes. `hello` says who calls for what. One try. Throws NetError when
// nothing listens there, and Refused or StreamClosed by what does.
std::unique_ptr<Stream> call(const Endpoint& endpoint, const JobKey& key, Hello hello, bool plaintext,
                             TimePoint deadline);

// The same, but that only connecting may block: both ends can call each other at once and go on with other
// work. Used by one thread, which polls to_poll() and then calls progress().
class PendingCall {
 public:
  // Throws NetError when nothing listens there.
  PendingCall(const Endpoint& endpoint, const JobKey& key, Hello hello, bool plaintext, TimePoint deadline);

  pollfd to_poll() const;
  TimePoint deadline() const { return deadline_; }
  int fd() const { return socket_.get(); }
  // The stream once the other end has answered, null until then. Throws as call() does.
  std::unique_ptr<Stream> progress(TimePoint now);

 private:
  FileDescriptor socket_;
  JobKey key_;
  bool is_encrypted_;
  TimePoint deadline_;
  Handshake handshake_;
};

// The other end of it.
std::unique_ptr<Stream> answer(Accepted accepted, const JobKey& key);

}  // namespace hocket
