#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "net/transport.h"

namespace hocket {

// Messages between the stages of a pipeline, of any size and in any number under way: they move whenever a
// rank waits for one of them or calls progress(). Channels are as cut_stages() numbers them. Used by one
// thread. Throws NetError, which names the culprit.
class StageLinks {
 public:
  // Transports of the ranks along pp, one a channel, in the same order on each of them.
  explicit StageLinks(std::vector<std::unique_ptr<Transport>> channels);

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

  std::vector<std::unique_ptr<Transport>> channels_;
  std::vector<Counts> counts_;
};

}  // namespace hocket
