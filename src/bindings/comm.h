#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/hocket.h"
#include "collective/async_group.h"
#include "collective/group.h"
#include "net/world.h"

namespace hocket {

// The job that a process joined; the communicators split off from each other share it.
struct JoinedJob {
  explicit JoinedJob(std::unique_ptr<Membership> membership) : world(std::move(membership), {}) {}

  World world;
  unsigned next_group = 1;  // No group that this process is in has this number or a higher one.
};

// What a collective of the C interface asks for. `count` is that of one block.
struct Request {
  Collective collective = Collective::barrier;
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  DType dtype = DType::u8;
  Reduction reduction = Reduction::sum;
  Rank root = 0;
  Algorithm algorithm = Algorithm::automatic;
};

// A communicator: a group with separate send and receive buffers. Used by one thread at a time, but for
// health(). Throws NetError and ConfigError.
class Comm {
 public:
  Comm(std::shared_ptr<JoinedJob> job, Group group) : job_(std::move(job)), group_(std::move(group)) {}

  // Meets the other ranks.
  static std::unique_ptr<Comm> join(const hocket_unique_id& id, Rank rank, int size);
  std::unique_ptr<Comm> split(int color);  // nullptr for a negative one.

  Rank rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  const Health& health() const { return job_->world.health(); }
  std::byte* allocate(std::size_t bytes) { return group_.allocate(bytes).data(); }

  void run(const Request& request);
  AsyncGroup::Handle start(const Request& request);  // Of what needs no work at its end.
  bool is_done(AsyncGroup::Handle handle);
  void wait(AsyncGroup::Handle handle);

 private:
  Operation prepare(const Request& request);
  void finish(const Request& request);
  void check(const Request& request) const;
  std::byte* scratch(std::size_t bytes);
  void run(const Operation& operation);

  std::shared_ptr<JoinedJob> job_;
  Group group_;
  std::vector<std::byte> scratch_;
  std::unique_ptr<AsyncGroup> async_;  // From the first start() on.
  AsyncGroup::Handle started_ = 0;
};

}  // namespace hocket
