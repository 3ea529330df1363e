#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "jobs/job_coordinator.h"
#include "net/clock.h"
#include "net/wake.h"

namespace hocket {

// A connection, as whoever keeps them numbers them: never twice the same.
using LineNumber = std::uint64_t;

struct ClientRequest {
  std::string text;
};
struct LineClosed {};
// What comes over a line.
using HeardOnLine = std::variant<AgentArrives, AttemptEnded, AttemptRate, ClientRequest, LineClosed>;

// What goes out over a line; nothing at all: it is to be closed.
struct SaidOnLine {
  LineNumber line;
  std::vector<std::byte> bytes;
};

// The coordinator in a thread of its own, in which it may wait for the disk, for as long as that takes: what
// is heard is queued for it, and what it says is queued for the network once it is durable. Questions are
// answered beside it from what is durable, whatever it waits for. A store that cannot write is logged and
// tried again. Thread-safe; none of the calls waits for the disk.
class CoordinatorThread final : public JobOutbox {
 public:
  // Makes the answer to a client's request; throws nothing.
  using Answer = std::function<std::string(JobCoordinator& coordinator, const std::string& request)>;

  CoordinatorThread(JobStore& store, const JobCoordinatorOptions& options, Log log, Answer answer,
                    Seconds slow_write = Seconds(1));
  ~CoordinatorThread() override;

  void hear(LineNumber line, HeardOnLine what);
  std::string ask(const std::string& question);  // `question` changes nothing.
  std::vector<SaidOnLine> take_said();
  int fd() const { return wake_.fd(); }  // Readable when there is something to take.

 private:
  // Lets others read the coordinator, which changes only after it has saved, while the disk is at work.
  class YieldingStore final : public JobStore {
   public:
    YieldingStore(CoordinatorThread& owner, JobStore& store) : owner_(owner), store_(store) {}
    std::vector<JobRecord> jobs() override { return store_.jobs(); }
    std::vector<ClusterMachine> machines() override { return store_.machines(); }
    void save(const JobRecord& record) override;
    void save(int index, const ClusterMachine& machine) override;

   private:
    CoordinatorThread& owner_;
    JobStore& store_;
  };
  class Yield;

  void send(int machine, const JobMessage& message) override;
  void work(const std::stop_token& stop);
  Seconds decide();
  void handle(LineNumber line, const HeardOnLine& what);
  void welcome(LineNumber line, const AgentArrives& agent);
  void close(LineNumber line);
  void leave(LineNumber line);
  void say(LineNumber line, std::vector<std::byte> bytes);
  void say_once(const std::string& trouble);

  Log log_;
  Answer answer_;
  Seconds slow_write_;
  std::mutex mutex_;  // Of all below, but while the disk is at work.
  std::condition_variable_any has_heard_;
  std::vector<std::pair<LineNumber, HeardOnLine>> heard_;
  std::vector<SaidOnLine> said_;
  std::map<LineNumber, int> machines_;  // Agents that have said who they are.
  std::string trouble_;                 // Logged already.
  YieldingStore store_;
  JobCoordinator coordinator_;
  Wake wake_;
  std::jthread thread_;
};

}  // namespace hocket
