#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "net/authenticate.h"
#include "net/clock.h"
#include "net/file_descriptor.h"
#include "net/job.h"
#include "net/log.h"
#include "net/socket.h"

namespace hocket {

struct ListenerOptions {
  Rank rank = -1;          // Of this end.
  bool plaintext = false;  // Takes unencrypted connections from other hosts too.
  Seconds patience{1.0};   // How long a stranger may take to prove that it belongs here.
  std::size_t max_pending = 64;
};

// A connection whose other end has proved that it belongs to the job.
struct Accepted {
  FileDescriptor socket;
  Hello hello;
};

// Listens, and makes every connection pass the handshake, many at once: nobody who is slow holds up others.
// Whoever fails is closed, logged in one line, and changes nothing. Used by one thread, which polls what
// add_to() names and then calls progress(). Never blocks.
class Listener {
 public:
  Listener(FileDescriptor listening, const JobKey& key, ListenerOptions options, Log log);

  Endpoint endpoint() const { return local_endpoint(listening_.get()); }
  void add_to(std::vector<pollfd>& polls) const;
  // Until when poll may wait at most.
  TimePoint next_deadline(TimePoint latest) const;
  std::vector<Accepted> progress(TimePoint now);

 private:
  struct Stranger {
    FileDescriptor socket;
    Handshake handshake;
    TimePoint since;
    Endpoint from;
  };

  void accept_strangers(TimePoint now);
  bool make_room(TimePoint now);
  bool advance_stranger(Stranger& stranger, TimePoint now);
  void check_encryption(const Stranger& stranger) const;
  void refuse(const Stranger& stranger, std::string_view why) const;

  FileDescriptor listening_;
  JobKey key_;
  ListenerOptions options_;
  Log log_;
  std::vector<Stranger> strangers_;  // The oldest first.
};

}  // namespace hocket
