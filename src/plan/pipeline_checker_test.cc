#include "plan/pipeline_checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/rng.h"

namespace hocket {
namespace {

constexpr int kMostStages = 16;
constexpr int kMostMicroBatches = 64;

bool is_possible(PipelineSchedule schedule, const PipelineShape& shape) {
  if (schedule != PipelineSchedule::interleaved) return shape.chunks == 1;
  return shape.chunks > 1 && shape.micro_batches % shape.stages == 0;
}

void for_all_shapes(PipelineSchedule schedule, const std::function<void(const PipelineShape&)>& body) {
  const bool is_stream = schedule == PipelineSchedule::pipedream;
  for (PipelineShape shape{1, 1}; shape.stages <= kMostStages; ++shape.stages) {
    for (shape.micro_batches = 1; shape.micro_batches <= kMostMicroBatches; ++shape.micro_batches) {
      for (shape.chunks = 1; shape.chunks <= 4; ++shape.chunks) {
        for (const bool vertical : {false, true}) {
          shape.vertical_sync = vertical;
          if (is_possible(schedule, shape) && (is_stream || !vertical)) body(shape);
        }
      }
    }
  }
}

class PipelineChecker : public testing::TestWithParam<PipelineSchedule> {};

TEST_P(PipelineChecker, FindsNoFaultUpTo16StagesAnd64MicroBatches) {
  for_all_shapes(GetParam(), [&](const PipelineShape& shape) {
    for (const int capacity : {kUnboundedSends, 1}) {
      ASSERT_EQ(find_fault(GetParam(), shape, capacity).value_or(""), "")
          << shape.stages << " stages, " << shape.micro_batches << " micro-batches, " << shape.chunks
          << " chunks, capacity " << capacity;
    }
  });
}

TEST_P(PipelineChecker, ActivationsInFlightStayWithinWhatTheScheduleIsFor) {
  for_all_shapes(GetParam(), [&](const PipelineShape& shape) {
    for (int stage = 0; stage < shape.stages; ++stage) {
      const int behind = shape.stages - 1 - stage;
      const int limit =
          std::vector{1, shape.micro_batches, behind + 1, 2 * behind + 1 + (shape.chunks - 1) * shape.stages,
                      behind + 1}[static_cast<std::size_t>(GetParam())];
      const PipelineActions actions = pipeline_actions(GetParam(), shape, stage);
      ASSERT_EQ(most_in_flight(actions), std::min(limit, shape.micro_batches * shape.chunks));
      ASSERT_LE(versions_kept(actions), shape.stages);
    }
  });
}

// ---- the checker finds what is wrong ----

std::vector<PipelineShape> shapes_to_break(PipelineSchedule schedule) {
  if (schedule == PipelineSchedule::interleaved) return {{1, 2, 2}, {2, 4, 2}, {3, 3, 2}};
  if (schedule == PipelineSchedule::pipedream) {
    return {{1, 3}, {3, 5}, {.stages = 3, .micro_batches = 6, .vertical_sync = true}};
  }
  return {{1, 3}, {2, 4}, {3, 5}, {4, 3}};
}

// Computes with numbers that remember all they come from, and takes what arrives without looking at whose it
// is: an answer of its own to whether actions do what they should. Empty when a stage waits for ever.
class Arithmetic {
 public:
  Arithmetic(const PipelineShape& shape, const std::vector<PipelineActions>& actions)
      : shape_(shape), actions_(actions), down_(parts() + 1), up_(parts() + 1), ranks_(actions.size()) {
    for (int m = 0; m < shape.micro_batches; ++m) {
      down_[0].push_back(mix_bits(static_cast<std::uint64_t>(m)));
      up_[parts()].push_back(mix_bits(static_cast<std::uint64_t>(100 + m)));
    }
    for (Rank& rank : ranks_) rank.chunks.resize(static_cast<std::size_t>(shape.chunks));
  }

  std::vector<std::uint64_t> result() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stage = 0; stage < actions_.size(); ++stage) {
        while (act(stage)) moved = true;
      }
    }
    std::vector<std::uint64_t> result;
    for (std::size_t stage = 0; stage < actions_.size(); ++stage) {
      const Rank& rank = ranks_[stage];
      if (rank.next != actions_[stage].size()) return {};
      result.insert(result.end(), {rank.weights.back(), rank.weights.size()});
      for (const Chunk& chunk : rank.chunks) result.push_back(mix(chunk.statistics, chunk.gradient));
    }
    return result;
  }

 private:
  using Queue = std::deque<std::uint64_t>;
  struct Chunk {
    std::uint64_t gradient = 0;
    std::uint64_t statistics = 0;
    Queue kept{};
  };
  struct Rank {
    std::size_t next = 0;
    std::vector<std::uint64_t> weights{1};
    std::vector<Chunk> chunks{};
  };

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix_bits(a * 31 + mix_bits(b)); }
  static std::uint64_t take(Queue& queue) {
    const std::uint64_t value = queue.front();
    queue.pop_front();
    return value;
  }
  std::size_t parts() const { return static_cast<std::size_t>(shape_.parts()); }

  bool act(std::size_t stage) {
    Rank& rank = ranks_[stage];
    if (rank.next == actions_[stage].size()) return false;
    const PipelineAction& action = actions_[stage][rank.next];
    if (action.kind == ActionKind::update) {
      rank.weights.push_back(rank.weights.back());
      for (Chunk& chunk : rank.chunks) {
        rank.weights.back() = mix(rank.weights.back(), std::exchange(chunk.gradient, 0));
      }
    } else if (static_cast<std::size_t>(action.version) >= rank.weights.size() || !pass(stage, action)) {
      return false;
    }
    ++rank.next;
    return true;
  }

  bool pass(std::size_t stage, const PipelineAction& action) {
    Chunk& chunk = ranks_[stage].chunks[static_cast<std::size_t>(action.chunk)];
    const std::size_t part = static_cast<std::size_t>(action.chunk) * actions_.size() + stage;
    const std::uint64_t weights = mix(static_cast<std::uint64_t>(action.micro_batch),
                                      ranks_[stage].weights[static_cast<std::size_t>(action.version)]);
    if (action.kind == ActionKind::forward) {
      if (down_[part].empty()) return false;
      chunk.kept.push_back(mix(take(down_[part]), weights));
      down_[part + 1].push_back(chunk.kept.back());
      chunk.statistics = mix(chunk.statistics, chunk.kept.back());
    } else {
      if (up_[part + 1].empty() || chunk.kept.empty()) return false;
      up_[part].push_back(mix(mix(take(up_[part + 1]), take(chunk.kept)), weights));
      chunk.gradient = mix(chunk.gradient, up_[part].back());
    }
    return true;
  }

  const PipelineShape shape_;
  const std::vector<PipelineActions>& actions_;
  std::vector<Queue> down_;  // To part p.
  std::vector<Queue> up_;    // To part p - 1.
  std::vector<Rank> ranks_;
};

TEST_P(PipelineChecker, FindsEveryMissingAction) {
  for (const PipelineShape& shape : shapes_to_break(GetParam())) {
    const std::vector<PipelineActions> actions = all_pipeline_actions(GetParam(), shape);
    for (std::size_t stage = 0; stage < actions.size(); ++stage) {
      for (std::size_t i = 0; i < actions[stage].size(); ++i) {
        std::vector<PipelineActions> broken = actions;
        broken[stage].erase(broken[stage].begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_TRUE(find_fault(GetParam(), shape, broken)) << stage << ' ' << i;
      }
    }
  }
}

TEST_P(PipelineChecker, FindsEverySwapThatMatters) {
  int found = 0;
  for (const PipelineShape& shape : shapes_to_break(GetParam())) {
    const std::vector<PipelineActions> actions = all_pipeline_actions(GetParam(), shape);
    const std::vector<std::uint64_t> right = Arithmetic(shape, actions).result();
    ASSERT_FALSE(right.empty());
    for (std::size_t stage = 0; stage < actions.size(); ++stage) {
      for (std::size_t i = 0; i < actions[stage].size(); ++i) {
        for (std::size_t j = i + 1; j < actions[stage].size(); ++j) {
          std::vector<PipelineActions> swapped = actions;
          std::swap(swapped[stage][i], swapped[stage][j]);
          const bool is_right = Arithmetic(shape, swapped).result() == right;
          const std::string fault = find_fault(GetParam(), shape, swapped).value_or("");
          if (!is_right) ++found;
          if (!is_right) {
            EXPECT_NE(fault, "") << shape.stages << ": stage " << stage << ' ' << i << " with " << j;
          } else if (GetParam() != PipelineSchedule::pipedream) {
            EXPECT_EQ(fault, "") << shape.stages << ": stage " << stage << ' ' << i << " with " << j;
          }
        }
      }
    }
  }
  EXPECT_GT(found, 10);
}

INSTANTIATE_TEST_SUITE_P(Schedule, PipelineChecker,
                         testing::ValuesIn(all_pipeline_schedules().begin(), all_pipeline_schedules().end()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

TEST(PipelineCheckerFaults, WrongVersionsAreNamed) {
  const PipelineShape shape{2, 4};
  std::vector<PipelineActions> actions = all_pipeline_actions(PipelineSchedule::pipedream, shape);
  actions[0][5].version = 1;  // The backward of micro-batch 1 after an update in between.
  EXPECT_EQ(find_fault(PipelineSchedule::pipedream, shape, actions),
            "stage 0, action 5, backward of micro-batch 1 in chunk 0 with version 1: its forward had other "
            "weights");
}

TEST(PipelineCheckerFaults, VerticalSyncWantsOneVersionForAllStages) {
  PipelineShape shape{2, 4};
  const std::vector<PipelineActions> actions = all_pipeline_actions(PipelineSchedule::pipedream, shape);
  shape.vertical_sync = true;
  EXPECT_EQ(find_fault(PipelineSchedule::pipedream, shape, actions),
            "stage 1, forward of micro-batch 1 in chunk 0 with version 1: stage 0 has version 0");
}

TEST(PipelineCheckerFaults, DeadlocksAreNamed) {
  std::vector<PipelineActions> actions = all_pipeline_actions(PipelineSchedule::one_f_one_b, {2, 2});
  std::swap(actions[1][1], actions[1][2]);  // F0 F1 B0 B1: stage 1 waits for what stage 0 does after B0.
  actions[0] = pipeline_actions(PipelineSchedule::naive, {2, 2}, 0);
  EXPECT_EQ(find_fault(PipelineSchedule::one_f_one_b, {2, 2}, actions),
            "stage 0, action 1, backward of micro-batch 0 in chunk 0 with version 0: waits for ever");
}

TEST(PipelineCheckerFaults, MessagesWithoutRoomAreNamed) {
  // Stage 0 as gpipe, stage 1 as naive: one gradient has room, then stage 1 takes no more forwards.
  std::vector<PipelineActions> actions = all_pipeline_actions(PipelineSchedule::gpipe, {2, 4});
  actions[1] = pipeline_actions(PipelineSchedule::naive, {2, 4}, 1);
  EXPECT_EQ(find_fault(PipelineSchedule::gpipe, {2, 4}, actions, 2), std::nullopt);
  EXPECT_EQ(find_fault(PipelineSchedule::gpipe, {2, 4}, actions, 1),
            "stage 0, action 3, forward of micro-batch 3 in chunk 0 with version 0: its message never finds "
            "room");
}

}  // namespace
}  // namespace hocket
