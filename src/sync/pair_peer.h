#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/rng.h"

namespace hocket {

// What peers of asynchronous gossip say to each other. `grant` and `done` come with parameters.
enum class PairWord : std::uint8_t { ask, busy, grant, done };
inline constexpr int kPairWords = 4;

std::string_view name_of(PairWord word);

// The world of a PairPeer.
class PairWorld {
 public:
  virtual ~PairWorld() = default;
  virtual void send(int to, PairWord word) = 0;
  // Keeps the parameters as they are now as the snapshot, and sends it with the word. PairPeer::on_sent() is
  // called when the snapshot may be overwritten.
  virtual void send_snapshot(int to, PairWord word) = 0;
  // parameters += (what came with the last word - snapshot) / 2.
  virtual void meet_half_way() = 0;
};

// A worker of asynchronous gossip (after AD-PSGD, Lian et al. 2018), as a state machine: used by one thread,
// never blocks. Now and then it asks a neighbour, drawn at random, and both go to the mean of their
// parameters; what either has learned meanwhile is kept, so that the sum over all peers changes by nothing
// but gradients. A peer takes part in one exchange at a time. on_message() throws NetError for a word that is
// out of place.
class PairPeer {
 public:
  // The neighbours ask and are asked; the world must outlive it.
  PairPeer(int me, std::vector<int> neighbours, std::uint64_t seed, PairWorld& world);

  bool try_ask();  // No while an exchange is under way, or where there are no neighbours.
  void on_message(int from, PairWord word);
  void on_sent();  // The last snapshot has left.

  bool expects_values(int from, PairWord word) const;  // Whether on_message() would take them.
  bool is_free() const { return state_ == State::free; }
  int partner() const { return partner_; }  // Unless free.
  std::int64_t exchanges() const { return exchanges_; }
  std::int64_t refusals() const { return refusals_; }  // Of neighbours that this one asked.

 private:
  enum class State : std::uint8_t { free, asking, answering, closing };

  void on_ask(int from);
  void answer(int from);
  void become_free();
  void require(bool is_in_place, int from, PairWord word) const;

  int me_;
  std::vector<int> neighbours_;
  Rng rng_;
  PairWorld& world_;
  State state_ = State::free;
  int partner_ = -1;
  std::vector<int> waiting_;  // Whom to answer, in the order they asked.
  std::int64_t exchanges_ = 0;
  std::int64_t refusals_ = 0;
};

}  // namespace hocket
