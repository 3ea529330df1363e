#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "net/health.h"
#include "net/job.h"
#include "net/listener.h"
#include "net/log.h"
#include "net/stream.h"
#include "net/wake.h"

namespace hocket {

struct TcpOptions {
  int streams_within_host = 1;  // All ranks of a job use the same numbers.
  int streams_between_hosts = 2;
  Seconds timeout{30.0};
};

// Opens TCP streams: of two ranks the higher one connects, the lower one accepts; what arrives for a channel
// that nobody has asked for yet is kept until somebody does. Between hosts streams are encrypted unless the
// job is in plaintext. A thread of its own accepts. Job and health outlive it. Thread-safe.
class TcpConnector final : public Connector {
 public:
  // `listener` listens where members[rank] says.
  TcpConnector(const Job& job, Health& health, Listener listener, TcpOptions options, Log log);
  ~TcpConnector() override;

  std::vector<std::vector<std::unique_ptr<Stream>>> connect(unsigned channel,
                                                            std::span<const Rank> members) override;

 private:
  using Streams = std::vector<std::unique_ptr<Stream>>;
  using Sockets = std::map<int, FileDescriptor>;  // By index of the stream.

  bool shares_host(Rank peer) const;
  bool is_encrypted(Rank peer) const;
  int streams_with(Rank peer) const;
  void accept_all(const std::stop_token& stop);
  void keep(Accepted accepted);
  FileDescriptor dial(unsigned channel, Rank peer, int stream, TimePoint deadline);
  FileDescriptor try_dial(const Hello& hello, Rank peer, TimePoint deadline);
  Sockets await(unsigned channel, Rank peer, TimePoint deadline);
  std::unique_ptr<Stream> to_stream(FileDescriptor socket, Rank peer) const;
  void establish(std::span<const Streams> all, std::span<const Rank> members, TimePoint deadline);
  [[noreturn]] void fail(Rank peer, unsigned channel, std::string_view why);
  void check_health(unsigned channel) const;

  const Job& job_;
  Health& health_;
  Listener listener_;
  TcpOptions options_;
  Log log_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<unsigned, Rank>, Sockets> waiting_;
  Wake wake_;
  std::jthread thread_;
};

}  // namespace hocket
