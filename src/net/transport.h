#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/clock.h"
#include "net/health.h"
#include "net/pause.h"
#include "net/rank.h"

namespace hocket {

// What a message claims to be. Sender and receiver must claim the same: the receiver compares, and a
// difference is an error that shows both. Opaque here; whoever makes labels also says how they read
// (Transport::set_label_text).
struct Label {
  std::array<std::uint64_t, 4> words = {};
  bool operator==(const Label&) const = default;
};

struct Traffic {
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;  // Payload only.
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t rounds = 0;  // Of schedules; counted by who runs them.
};

// A transfer that has been started.
struct Pending {
  enum class Direction : std::uint8_t { send, recv };
  Rank peer = -1;
  Direction direction = Direction::send;
  std::uint64_t serial = 0;  // Transfers with one peer in one direction complete in this order.
};

// Receives a message piece by piece, in order, straight from where it arrived.
struct Sink {
  void (*take)(void* context, std::size_t offset, std::span<const std::byte> bytes) = nullptr;
  void* context = nullptr;
};

class SharedMemory;

// Moves messages between the ranks of one group. Messages from one rank to another arrive in the order they
// were sent. A buffer belongs to the transport until wait() has returned for its transfer. Used by one
// thread: transfers move while that thread waits or calls progress(). Every wait has a deadline; failures
// surface as NetError that names the culprit, and the transport is then unusable.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual Rank rank() const = 0;
  virtual int size() const = 0;
  virtual std::string_view name() const = 0;  // "shm", "tcp", "mpi", "inproc".

  virtual Pending send(Rank to, const Label& label, std::span<const std::byte> bytes) = 0;
  virtual Pending recv(Rank from, const Label& label, std::span<std::byte> into) = 0;
  virtual Pending recv(Rank from, const Label& label, std::size_t bytes, Sink sink) = 0;

  // Says that what is received from now on is wanted from now on, though recv() is called later: only links
  // that are emulated can tell the difference.
  virtual void begin_round() {}

  // From now on waits leave the core to others at once: for a thread that works beside one that computes.
  virtual void wait_asleep() {}

  virtual bool progress() = 0;  // Moves what can be moved; whether anything was.
  virtual bool is_done(const Pending& pending) const = 0;
  virtual void wait(const Pending& pending) = 0;

  // A group of some of these ranks: every one of them calls it with the same members (ranks of this group,
  // ascending) and the same channel, which no other group of any of them has.
  virtual std::unique_ptr<Transport> split(std::span<const Rank> members, unsigned channel) = 0;

  // The memory that all ranks of this group have in common, or nullptr.
  virtual SharedMemory* shared_memory() { return nullptr; }

  // For those who move data by shared memory themselves: waits for `ready`, which `peer` will make true, as
  // wait() does.
  template <typename Ready>
  void wait_until(Rank peer, const Label& label, const Ready& ready) {
    if (ready()) return;
    Pause pause(is_crowded());
    do pass_time(pause, peer, label);
    while (!ready());
  }

  virtual Health& health() = 0;
  virtual Rank rank_in_job(Rank rank) const = 0;
  virtual bool is_crowded() const = 0;  // More ranks than cores.

  void set_label_text(std::function<std::string(const Label&)> text) { label_text_ = std::move(text); }
  const Traffic& traffic() const { return traffic_; }
  Traffic& traffic() { return traffic_; }

 protected:
  // One moment of a wait for `peer`; throws NetError when the job has failed or the deadline has passed.
  virtual void pass_time(Pause& pause, Rank peer, const Label& label) = 0;

  std::string text_of(const Label& label) const { return label_text_ ? label_text_(label) : "a message"; }

 private:
  std::function<std::string(const Label&)> label_text_;
  Traffic traffic_;
};

}  // namespace hocket
