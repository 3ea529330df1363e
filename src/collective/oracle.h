#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/blocks.h"
#include "collective/collective.h"
#include "collective/interpreter.h"

namespace hocket {

// What every collective must do, said once more without schedules: for tests.

constexpr std::size_t kElementBytes = 4;

// A collective and an algorithm that can carry it out.
struct Way {
  Collective collective;
  Algorithm algorithm;
};

// Every way, or every way of one collective.
inline std::vector<Way> all_ways(std::optional<Collective> of = std::nullopt) {
  std::vector<Way> ways;
  for (const Collective collective : all_collectives()) {
    if (of && *of != collective) continue;
    for (const Algorithm algorithm : all_algorithms()) {
      if (supports({.collective = collective, .algorithm = algorithm, .world = 4})) {
        ways.push_back({collective, algorithm});
      }
    }
  }
  return ways;
}

inline std::string name_of(const Way& way) {
  return std::string(name_of(way.collective)) + "_by_" + std::string(name_of(way.algorithm));
}

inline Call call_of(const Way& way, int world, std::size_t count, Rank root = 0) {
  return {
      .collective = way.collective, .algorithm = way.algorithm, .world = world, .count = count, .root = root};
}

// Whether the root, or the master, makes a difference.
inline bool has_root(const Way& way) {
  return way.collective == Collective::broadcast || way.collective == Collective::reduce ||
         way.collective == Collective::gather || way.collective == Collective::scatter ||
         way.algorithm == Algorithm::master || way.algorithm == Algorithm::binomial;
}

inline std::string text_of(const Call& call) {
  std::string text = name_of(Way{call.collective, call.algorithm}) + ", world " + std::to_string(call.world) +
                     ", count " + std::to_string(call.count) + ", root " + std::to_string(call.root);
  for (const Rank group : call.group_of) text += " g" + std::to_string(group);
  for (const std::size_t block : call.blocks) text += " b" + std::to_string(block);
  return text;
}

inline std::vector<Schedule> schedules_of(const Call& call) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < call.world; ++rank) schedules.push_back(schedule_of(call, rank));
  return schedules;
}

// Vectors that every rank starts with, and their sums. Element i of a rank does not depend on the length of
// its vector, so that they are made once.
class Terms {
 public:
  using Vector = std::vector<std::uint32_t>;
  static constexpr std::size_t kLongest = 65537 + 64;
  static constexpr int kRanks = 16;

  static std::span<const std::uint32_t> of(Rank rank) {
    return terms().vectors_[static_cast<std::size_t>(rank)];
  }

  // The sum over the ranks below `world`.
  static std::span<const std::uint32_t> sum(int world) {
    return terms().sums_[static_cast<std::size_t>(world)];
  }

 private:
  Terms() : sums_(1, Vector(kLongest, 0)) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      Vector vector(kLongest);
      for (std::uint32_t i = 0; i < kLongest; ++i) vector[i] = (rank + 1) * 0x9e3779b1U ^ (i * 0x85ebca6bU);
      Vector sum = sums_.back();
      for (std::size_t i = 0; i < kLongest; ++i) sum[i] += vector[i];
      vectors_.push_back(std::move(vector));
      sums_.push_back(std::move(sum));
    }
  }
  static const Terms& terms() {
    static const Terms terms;
    return terms;
  }

  std::vector<Vector> vectors_;
  std::vector<Vector> sums_;
};

// The vectors of all ranks before and after one call.
class Trial {
 public:
  explicit Trial(const Call& call) : call_(call) {
    for (Rank me = 0; me < call.world; ++me) {
      Terms::Vector data(data_size(call, me), 0xdeadbeefU);
      const Range defined = defined_before(me);
      copy_part(Terms::of(me), defined, data);
      data_.push_back(std::move(data));
      if (call.collective != Collective::all_to_all) continue;
      const auto source = Terms::of(me).first(input_size(call, me));
      input_.emplace_back(source.begin(), source.end());
    }
  }

  void run() {
    const std::vector<Schedule> schedules = schedules_of(call_);
    interpret<std::uint32_t>(schedules, data_, input_,
                             [](std::uint32_t& into, std::uint32_t from) { into += from; });
  }

  void check() const {
    for (Rank me = 0; me < call_.world; ++me) {
      ASSERT_TRUE(is_right(me)) << text_of(call_) << ": wrong result on rank " << me;
    }
  }

 private:
  Range whole() const { return {0, call_.count}; }

  Range defined_before(Rank me) const {
    switch (call_.collective) {
      case Collective::broadcast:
      case Collective::scatter: return me == call_.root ? whole() : Range{};
      case Collective::gather:
      case Collective::all_gather: return data_blocks(call_, me)[me];
      case Collective::all_to_all: return {};
      default: return whole();
    }
  }

  bool is_right(Rank me) const {
    const Blocks blocks = data_blocks(call_, me);
    switch (call_.collective) {
      case Collective::broadcast: return holds(me, whole(), Terms::of(call_.root));
      case Collective::reduce: return me != call_.root || holds(me, whole(), Terms::sum(call_.world));
      case Collective::all_reduce: return holds(me, whole(), Terms::sum(call_.world));
      case Collective::gather: return me != call_.root || holds_all_blocks(me, blocks);
      case Collective::all_gather: return holds_all_blocks(me, blocks);
      case Collective::scatter: return holds(me, blocks[me], Terms::of(call_.root));
      case Collective::reduce_scatter: return holds(me, blocks[me], Terms::sum(call_.world));
      case Collective::all_to_all: return holds_what_others_had(me, blocks);
      case Collective::barrier: return true;
    }
    return false;
  }

  bool holds(Rank me, Range range, std::span<const std::uint32_t> expected) const {
    const Terms::Vector& data = data_[static_cast<std::size_t>(me)];
    return std::equal(data.begin() + static_cast<std::ptrdiff_t>(range.offset),
                      data.begin() + static_cast<std::ptrdiff_t>(range.end()),
                      expected.begin() + static_cast<std::ptrdiff_t>(range.offset));
  }

  bool holds_all_blocks(Rank me, const Blocks& blocks) const {
    for (Rank from = 0; from < call_.world; ++from) {
      if (!holds(me, blocks[from], Terms::of(from))) return false;
    }
    return true;
  }

  bool holds_what_others_had(Rank me, const Blocks& blocks) const {
    const Terms::Vector& data = data_[static_cast<std::size_t>(me)];
    for (Rank from = 0; from < call_.world; ++from) {
      const auto sent = Terms::of(from).subspan(input_blocks(call_, from)[me].offset, blocks[from].size);
      if (!std::equal(sent.begin(), sent.end(),
                      data.begin() + static_cast<std::ptrdiff_t>(blocks[from].offset))) {
        return false;
      }
    }
    return true;
  }

  static void copy_part(std::span<const std::uint32_t> from, Range range, Terms::Vector& into) {
    const auto part = from.subspan(range.offset, range.size);
    std::copy(part.begin(), part.end(), into.begin() + static_cast<std::ptrdiff_t>(range.offset));
  }

  Call call_;
  std::vector<Terms::Vector> data_;
  std::vector<Terms::Vector> input_;
};

inline void expect_right_result(const Call& call) {
  Trial trial(call);
  trial.run();
  trial.check();
}

}  // namespace hocket
