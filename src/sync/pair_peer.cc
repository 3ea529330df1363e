// An exchange: i says ask; j says grant, with its parameters s_j; i says done, with its own s_i, and adds
// (s_j - s_i)/2; j, when it hears that, adds (s_i - s_j)/2. The sum of both is preserved whatever they learn
// in between, and only differences are added, so that no lock is held while messages travel.
//
// Nobody waits in a circle. A peer that answers, or closes, lets others wait: its own partner acts at once. A
// peer that asks lets those of higher rank wait and turns those of lower rank away: a chain of peers that
// wait for such peers has falling ranks, so that it ends. Two that ask each other come to one exchange.
#include "sync/pair_peer.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace hocket {

std::string_view name_of(PairWord word) {
  constexpr std::array<std::string_view, kPairWords> names{"ask", "busy", "grant", "done"};
  return names[static_cast<std::size_t>(word)];
}

PairPeer::PairPeer(int me, std::vector<int> neighbours, std::uint64_t seed, PairWorld& world)
    : me_(me), neighbours_(std::move(neighbours)), rng_{seed, static_cast<std::uint64_t>(me)}, world_(world) {
  waiting_.reserve(neighbours_.size());
}

bool PairPeer::try_ask() {
  if (state_ != State::free || neighbours_.empty()) return false;
  state_ = State::asking;
  partner_ = neighbours_[rng_.below(neighbours_.size())];
  world_.send(partner_, PairWord::ask);
  return true;
}

bool PairPeer::expects_values(int from, PairWord word) const {
  if (from != partner_) return false;
  return (word == PairWord::grant && state_ == State::asking) ||
         (word == PairWord::done && state_ == State::answering);
}

void PairPeer::on_message(int from, PairWord word) {
  switch (word) {
    case PairWord::ask: on_ask(from); break;
    case PairWord::busy:
      require(state_ == State::asking && from == partner_, from, word);
      ++refusals_;
      become_free();
      break;
    case PairWord::grant:
      require(expects_values(from, word), from, word);
      state_ = State::closing;
      world_.send_snapshot(from, PairWord::done);
      world_.meet_half_way();
      ++exchanges_;
      break;
    case PairWord::done:
      require(expects_values(from, word), from, word);
      world_.meet_half_way();
      ++exchanges_;
      become_free();
      break;
  }
}

void PairPeer::on_ask(int from) {
  const bool is_neighbour = std::find(neighbours_.begin(), neighbours_.end(), from) != neighbours_.end();
  const bool waits = std::find(waiting_.begin(), waiting_.end(), from) != waiting_.end();
  require(is_neighbour && !waits, from, PairWord::ask);
  if (state_ == State::free) {
    answer(from);
  } else if (state_ == State::asking && from < me_) {
    world_.send(from, PairWord::busy);
  } else {
    waiting_.push_back(from);
  }
}

void PairPeer::on_sent() {
  if (state_ == State::closing) become_free();
}

void PairPeer::answer(int from) {
  state_ = State::answering;
  partner_ = from;
  world_.send_snapshot(from, PairWord::grant);
}

void PairPeer::become_free() {
  state_ = State::free;
  if (waiting_.empty()) return;
  const int next = waiting_.front();
  waiting_.erase(waiting_.begin());
  answer(next);
}

void PairPeer::require(bool is_in_place, int from, PairWord word) const {
  if (!is_in_place)
    throw NetError("rank {}: '{}' from rank {} is out of place in the exchange of parameters", me_,
                   name_of(word), from);
}

}  // namespace hocket
