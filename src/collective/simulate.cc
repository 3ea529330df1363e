// Shared edges serve messages in the order of posting, so that ranks must begin their rounds in the order of
// time. A heap of ranks gives that order. But without shared edges, or where each of them sees its messages
// in order anyway, as in a ring that follows the racks, any order of ranks that respects who waits for whom
// gives the same result. So ranks first go through a plain queue of those that can go on, while each edge
// checks that what it is given comes in order; if it ever does not, the replay starts again with the heap.
#include "collective/simulate.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace hocket {
namespace {

constexpr std::size_t kMaxUnderWay = 20'000'000;

struct Message {
  double posted;
  double carried;
  double seconds;  // That it takes in the receiver's ingress.
  Rank from;
};

// A rank in its present round.
struct Progress {
  Schedule schedule;
  int round = 0;
  bool is_waiting = false;
  double begin = 0;               // Of the round.
  double ready = 0;               // When all that is known of is done.
  std::vector<Rank> missing;      // Senders of messages that it waits for.
  std::vector<Message> received;  // By this round.
  std::vector<Message> early;     // For later rounds, each sender's in order.
  std::uint64_t bytes = 0;
};

struct LinkQueue {
  double free_at = 0;
  double busy = 0;
  double last_post = 0;
  Rank last_from = -1;

  double serve(double now, double seconds) {
    free_at = std::max(now, free_at) + seconds;
    busy += seconds;
    return free_at;
  }
};

// Ranks that can begin a round, first come first served.
class PlainOrder {
 public:
  static constexpr bool kIsByTime = false;
  explicit PlainOrder(int world) : ranks_(static_cast<std::size_t>(world)) {}

  bool empty() const { return size_ == 0; }
  void push(Rank rank, double) {
    ranks_[end_] = rank;
    end_ = end_ + 1 == ranks_.size() ? 0 : end_ + 1;
    ++size_;
  }
  Rank pop() {
    const Rank rank = ranks_[start_];
    start_ = start_ + 1 == ranks_.size() ? 0 : start_ + 1;
    --size_;
    return rank;
  }

 private:
  std::vector<Rank> ranks_;  // A ring: a rank is in it at most once.
  std::size_t start_ = 0;
  std::size_t end_ = 0;
  std::size_t size_ = 0;
};

// The same, the earliest first.
class TimeOrder {
 public:
  static constexpr bool kIsByTime = true;
  explicit TimeOrder(int) {}

  bool empty() const { return heap_.empty(); }
  void push(Rank rank, double time) { heap_.emplace(time, turn_of(rank), rank); }
  Rank pop() {
    const Rank rank = std::get<Rank>(heap_.top());
    heap_.pop();
    return rank;
  }

 private:
  using Entry = std::tuple<double, std::uint64_t, Rank>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

template <typename Order>
class Replay {
 public:
  Replay(const ScheduleOfRank& schedule_of_rank, const Topology& topology, std::size_t element_bytes)
      : links_(topology.links()),
        element_bytes_(element_bytes),
        queues_(static_cast<std::size_t>(links_.queues())),
        order_(topology.world()) {
    ranks_.reserve(static_cast<std::size_t>(topology.world()));
    for (Rank rank = 0; rank < topology.world(); ++rank) {
      ranks_.push_back({schedule_of_rank(rank), 0, false, 0, 0, {}, {}, {}, 0});
      order_.push(rank, 0);
    }
  }

  // Nothing when a queue was given messages out of order.
  std::optional<Simulation> run() {
    while (!order_.empty() && !is_out_of_order_) begin_round(order_.pop());
    if (is_out_of_order_) return std::nullopt;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].is_waiting) fail_waiting(static_cast<Rank>(rank));
    }
    return result();
  }

 private:
  void begin_round(Rank me) {
    Progress& rank = ranks_[static_cast<std::size_t>(me)];
    rank.begin = rank.ready;
    for (; rank.round < rank.schedule.rounds(); ++rank.round) {
      rank.schedule.round(rank.round, actions_);
      if (!start_messages(me, rank)) continue;
      take_early(rank);
      rank.is_waiting = !rank.missing.empty();
      if (!rank.is_waiting) end_round(me, rank);
      return;
    }
  }

  // Whether there are any.
  bool start_messages(Rank me, Progress& rank) {
    bool is_any = false;
    for (const Action& action : actions_) {
      if (!action.is_message()) continue;
      is_any = true;
      if (action.is_send()) {
        post(me, action.peer, action.range.size * element_bytes_, rank);
      } else {
        rank.missing.push_back(action.peer);
      }
    }
    return is_any;
  }

  // The ingress takes what the round has received in the order of posting.
  void end_round(Rank me, Progress& rank) {
    if (rank.received.size() > 1) {
      std::sort(rank.received.begin(), rank.received.end(),
                [](const Message& a, const Message& b) { return a.posted < b.posted; });
    }
    LinkQueue& ingress = queues_[static_cast<std::size_t>(links_.ingress(me))];
    for (const Message& message : rank.received) {
      ingress.serve(std::max(rank.begin, message.posted), message.seconds);
      rank.ready = std::max({rank.ready, message.carried, ingress.free_at});
    }
    rank.received.clear();
    rank.is_waiting = false;
    ++rank.round;
    order_.push(me, rank.ready);
  }

  void post(Rank from, Rank to, std::size_t bytes, Progress& sender) {
    const LinkTree::Route route = links_.route(from, to);
    const double now = sender.begin;
    const double carried = links_.carry(
        route, from, to, bytes, [&](int queue, double seconds) { return occupy(queue, from, now, seconds); });
    sender.ready = std::max(sender.ready, queues_[static_cast<std::size_t>(links_.egress(from))].free_at);
    sender.bytes += bytes;
    bytes_[static_cast<std::size_t>(route.levels - 1)] += bytes;
    ++messages_;
    arrive({now, carried, route.seconds(bytes), from}, to);
  }

  double occupy(int index, Rank from, double now, double seconds) {
    LinkQueue& queue = queues_[static_cast<std::size_t>(index)];
    if constexpr (!Order::kIsByTime) {
      const bool is_race = now == queue.last_post && queue.last_from >= 0;
      if (now < queue.last_post || (is_race && turn_of(from) < turn_of(queue.last_from))) {
        is_out_of_order_ = true;
      }
      queue.last_post = now;
      queue.last_from = from;
    }
    return queue.serve(now, seconds);
  }

  void arrive(const Message& message, Rank to) {
    Progress& rank = ranks_[static_cast<std::size_t>(to)];
    if (rank.is_waiting && rank.missing.size() <= kFew) {
      const auto at = std::find(rank.missing.begin(), rank.missing.end(), message.from);
      if (at == rank.missing.end()) {
        keep(rank, message);
        return;
      }
      rank.missing.erase(at);
      rank.received.push_back(message);
    } else {
      keep(rank, message);
      if (!rank.is_waiting || rank.early.size() < rank.missing.size()) return;
      take_early(rank);
    }
    if (rank.missing.empty()) end_round(to, rank);
  }

  void keep(Progress& rank, const Message& message) {
    rank.early.push_back(message);
    if (++kept_ > kMaxUnderWay) {
      throw ConfigError("simulate: more than {} messages under way: too many to replay with {} ranks",
                        kMaxUnderWay, ranks_.size());
    }
  }

  // Takes what is missing out of what has come early.
  void take_early(Progress& rank) {
    if (rank.missing.empty() || rank.early.empty()) return;
    const std::size_t before = rank.early.size();
    if (rank.missing.size() <= kFew) {
      take_few(rank);
    } else {
      take_sorted(rank);
    }
    kept_ -= before - rank.early.size();
  }

  static void take_few(Progress& rank) {
    std::erase_if(rank.missing, [&](Rank from) {
      const auto at = std::find_if(rank.early.begin(), rank.early.end(),
                                   [&](const Message& message) { return message.from == from; });
      if (at == rank.early.end()) return false;
      rank.received.push_back(*at);
      rank.early.erase(at);
      return true;
    });
  }

  static void take_sorted(Progress& rank) {
    std::sort(rank.missing.begin(), rank.missing.end());
    std::stable_sort(rank.early.begin(), rank.early.end(),
                     [](const Message& a, const Message& b) { return a.from < b.from; });
    std::vector<Rank> missing;
    std::vector<Message> later;
    std::size_t next = 0;
    for (const Rank from : rank.missing) {
      while (next < rank.early.size() && rank.early[next].from < from) later.push_back(rank.early[next++]);
      if (next < rank.early.size() && rank.early[next].from == from) {
        rank.received.push_back(rank.early[next++]);
      } else {
        missing.push_back(from);
      }
    }
    later.insert(later.end(), rank.early.begin() + static_cast<std::ptrdiff_t>(next), rank.early.end());
    rank.missing = std::move(missing);
    rank.early = std::move(later);
  }

  [[noreturn]] void fail_waiting(Rank me) const {
    const Progress& rank = ranks_[static_cast<std::size_t>(me)];
    throw Error("simulate: rank {} waits for rank {} in round {} of {} for ever", me, rank.missing.front(),
                rank.round + 1, rank.schedule.rounds());
  }

  Simulation result() const {
    Simulation simulation;
    for (const Progress& rank : ranks_) {
      simulation.finish.emplace_back(rank.ready);
      simulation.rounds = std::max(simulation.rounds, rank.schedule.rounds());
      simulation.most_bytes = std::max(simulation.most_bytes, rank.bytes);
    }
    for (const LinkQueue& queue : queues_) simulation.busy.emplace_back(queue.busy);
    simulation.messages = messages_;
    simulation.bytes = bytes_;
    for (std::size_t level = kLevels - 1; level > 0; --level) {
      simulation.bytes[level - 1] += simulation.bytes[level];
    }
    return simulation;
  }

  static constexpr std::size_t kFew = 8;

  const LinkTree& links_;
  const std::size_t element_bytes_;
  std::vector<LinkQueue> queues_;
  std::vector<Progress> ranks_;
  Order order_;
  Round actions_;  // Of the round that begins.
  bool is_out_of_order_ = false;
  std::size_t kept_ = 0;
  std::uint64_t messages_ = 0;
  std::array<std::uint64_t, kLevels> bytes_ = {};  // Of messages, by the highest level whose edges they pass.
};

}  // namespace

Seconds Simulation::time() const {
  return finish.empty() ? Seconds(0) : *std::max_element(finish.begin(), finish.end());
}

double Simulation::utilisation() const {
  double sending = 0;
  for (std::size_t rank = 0; rank < finish.size(); ++rank) sending += busy[rank].count();
  const double all = time().count() * static_cast<double>(finish.size());
  return all > 0 ? sending / all : 0;
}

Simulation simulate(const ScheduleOfRank& schedule_of_rank, const Topology& topology,
                    std::size_t element_bytes) {
  std::optional<Simulation> simulation = Replay<PlainOrder>(schedule_of_rank, topology, element_bytes).run();
  if (!simulation) simulation = Replay<TimeOrder>(schedule_of_rank, topology, element_bytes).run();
  return *std::move(simulation);
}

}  // namespace hocket
