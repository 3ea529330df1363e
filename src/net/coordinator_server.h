#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/framed_stream.h"
#include "net/listener.h"
#include "net/log.h"
#include "net/rendezvous.h"
#include "net/wake.h"

namespace hocket {

// Runs a Coordinator on real connections, in a thread of its own. Thread-safe.
class CoordinatorServer {
 public:
  // Connections for another purpose than control go to `others`, in the server's thread.
  CoordinatorServer(CoordinatorOptions options, Listener listener, const JobKey& key, Log log,
                    std::function<void(Accepted)> others = {});
  // Waits up to `farewell` for ranks that are about to leave, and says goodbye to the rest.
  ~CoordinatorServer();

  Endpoint endpoint() const { return endpoint_; }
  void report_exit(Rank rank, std::string how);
  std::optional<Health::Failure> failure() const;
  void set_farewell(Seconds farewell) { farewell_ = farewell; }

 private:
  struct Line {
    Rank rank;
    FramedStream stream;
  };
  class Sender final : public Coordinator::Outbox {
   public:
    explicit Sender(std::map<Coordinator::Connection, Line>& lines) : lines_(lines) {}
    void send(Coordinator::Connection to, const ControlMessage& message) override;

   private:
    std::map<Coordinator::Connection, Line>& lines_;
  };

  void serve(const std::stop_token& stop);
  void serve_once(TimePoint until);
  void take(Accepted accepted);
  void hear(Coordinator::Connection connection, Line& line, TimePoint now);
  void pass_on_exits(TimePoint now);
  void say_goodbye();

  Listener listener_;
  Endpoint endpoint_;
  JobKey key_;
  Log log_;
  std::function<void(Accepted)> others_;
  std::map<Coordinator::Connection, Line> lines_;
  Sender sender_{lines_};
  Coordinator coordinator_;
  Coordinator::Connection next_connection_ = 1;
  std::atomic<Seconds> farewell_{Seconds(0)};
  mutable std::mutex mutex_;
  std::vector<std::pair<Rank, std::string>> exits_;
  std::optional<Health::Failure> failure_;
  Wake wake_;
  std::jthread thread_;
};

}  // namespace hocket
