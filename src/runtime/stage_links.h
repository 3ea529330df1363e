#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "net/transport.h"

namespace hocket {

// Messages between the stages of a pipeline, of any size and in any number under way. They move while the
// rank waits for one of them or calls progress(); what is left to send moves in a thread behind, so that a
// rank that computes or waits for something else holds up nobody. Channels are as cut_stages() numbers them.
// Used by one thread. Throws NetError, which names the culprit.
class StageLinks {
 public:
  // Transports of the ranks along pp, one a channel, in the same order on each of them.
  explicit StageLinks(std::vector<std::unique_ptr<Transport>> channels);
  ~StageLinks();

  // A message that has been started; its buffer belongs to it until wait() has returned.
  struct Message {
    int channel = -1;  // None: done.
    Pending pending{};
    Label label{};
  };

  Message send(int to, int channel, std::span<const std::byte> bytes);
  Message receive(int from, int channel, std::span<std::byte> into);
  bool is_done(const Message& message) const;
  void wait(Message& message);
  void progress();

  Traffic traffic() const;

 private:
  // Of one channel: how many messages went to and came from each rank.
  struct Counts {
    std::vector<std::uint64_t> sent, received;
  };

  bool has_arrived(const Message& message) const;  // With the mutex.
  void move_all();                                 // With the mutex.
  void push_behind(const std::stop_token& stop);

  mutable std::mutex mutex_;  // Guards all below.
  std::condition_variable_any posted_;
  std::vector<std::unique_ptr<Transport>> channels_;
  std::vector<Counts> counts_;
  std::vector<Message> left_;  // Sends that could not be done at once.
  std::jthread behind_;
};

}  // namespace hocket
