#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/transport.h"

namespace hocket {

// What peers of asynchronous gossip send: a few bytes, and behind grant and done parameters.
struct PairNotice {
  // The first as PairWord has them. `allow` answers a report: how many steps its sender may come to by then.
  enum class Word : std::uint8_t { ask, busy, grant, done, report, allow, meet };
  static constexpr std::size_t kWords = 7;

  Word word = Word::ask;
  bool wants_to_stop = false;
  std::int64_t steps = 0;  // Of allow; of a report, as what follows: what the sender has done so far.
  std::int64_t samples = 0;
  double loss = 0;  // Summed over the samples.

  bool has_values() const { return word == Word::grant || word == Word::done; }
};

// Notices and parameters between peers of which nobody knows who will speak next: a receive for each is
// always open. Nothing is allocated after construction. Used by one thread, which calls advance() all along.
// Throws NetError when the job has failed or a peer sends what it must not.
class PairWire {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual bool expects_values(int from, PairNotice::Word word) const = 0;
    virtual void on_notice(int from, const PairNotice& notice) = 0;  // With its values, if it has any.
    virtual void on_values_sent() = 0;
  };

  // `bytes` of parameters come with a notice that has them. The transport must outlive it.
  PairWire(Transport& transport, std::size_t bytes);

  // Whether the last notice of this word to this peer has left: the next one must wait for it.
  bool has_left(int to, PairNotice::Word word) const;
  void send(int to, const PairNotice& notice);
  // The values must stay until the listener hears that they were sent; one at a time.
  void send(int to, const PairNotice& notice, std::span<const std::byte> values);

  bool advance(Listener& listener);  // Moves what can be moved; whether anything was.
  std::span<const std::byte> values() const { return values_; }  // That came last.

 private:
  using Words = std::array<std::uint64_t, 4>;  // A notice as it travels.
  struct Out {
    Words words{};
    Pending pending{};
    bool is_used = false;
  };
  struct In {
    Words words{};
    Pending pending{};
    PairNotice notice{};
    bool awaits_values = false;
  };

  Out& out(int to, PairNotice::Word word);
  void listen_to(int from);
  bool take_from(int from, Listener& listener);
  static Words words_of(const PairNotice& notice);
  PairNotice read(int from, const Words& words) const;

  Transport& transport_;
  std::vector<std::byte> values_;
  std::vector<In> in_;    // By peer.
  std::vector<Out> out_;  // By peer and word.
  Pending values_pending_{};
  bool is_sending_values_ = false;
};

}  // namespace hocket
