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

// The other end of it.
std::unique_ptr<Stream> answer(Accepted accepted, const JobKey& key);

}  // namespace hocket
