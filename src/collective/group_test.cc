#include "collective/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "collective/async_group.h"
#include "collective/blocks.h"
#include "net/drop_nth_send.h"
#include "net/run_ranks.h"

namespace hocket {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

// Element i of what rank r puts in: small, so that every dtype holds every result exactly.
double term(Rank rank, std::size_t i) {
  return static_cast<double>((i * 5 + static_cast<std::size_t>(rank) * 3) % 3 + 1);
}

double folded(Reduction reduction, int world, std::size_t i) {
  double value = term(0, i);
  for (Rank rank = 1; rank < world; ++rank) {
    const double next = term(rank, i);
    switch (reduction) {
      case Reduction::product: value *= next; break;
      case Reduction::max: value = std::max(value, next); break;
      case Reduction::min: value = std::min(value, next); break;
      default: value += next;
    }
  }
  return reduction == Reduction::mean ? value / world : value;
}

// What a test stores: the value as the dtype holds it.
template <typename T>
T stored(double value) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

struct Case {
  Call call;
  DType dtype = DType::f32;
  Reduction reduction = Reduction::sum;
  bool in_arena = true;
};

std::string text_of(const Case& c) {
  return fmt::format("{} by {}, {} ranks, {} {}, {}, root {}{}", name_of(c.call.collective),
                     name_of(c.call.algorithm), c.call.world, c.call.count, name_of(c.dtype),
                     name_of(c.reduction), c.call.root, c.in_arena ? "" : ", private memory");
}

bool puts_all_in(const Call& call, Rank me) {
  switch (call.collective) {
    case Collective::broadcast:
    case Collective::scatter: return me == call.root;
    case Collective::gather:
    case Collective::all_gather: return false;
    default: return true;
  }
}

// What element i of rank `me` must be afterwards, or nothing where it is undefined.
std::optional<double> expected(const Case& c, Rank me, std::size_t i) {
  const Call& call = c.call;
  const Blocks blocks = data_blocks(call, me);
  const auto is_in = [&](Rank block) { return i >= blocks[block].offset && i < blocks[block].end(); };
  const auto owner = [&] {
    Rank rank = 0;
    while (!is_in(rank)) ++rank;
    return rank;
  };
  switch (call.collective) {
    case Collective::broadcast: return term(call.root, i);
    case Collective::all_reduce: return folded(c.reduction, call.world, i);
    case Collective::reduce:
      return me == call.root ? std::optional(folded(c.reduction, call.world, i)) : std::nullopt;
    case Collective::reduce_scatter:
      return is_in(me) ? std::optional(folded(c.reduction, call.world, i)) : std::nullopt;
    case Collective::gather: return me == call.root ? std::optional(term(owner(), i)) : std::nullopt;
    case Collective::all_gather: return term(owner(), i);
    case Collective::scatter: return is_in(me) ? std::optional(term(call.root, i)) : std::nullopt;
    case Collective::all_to_all: {
      const Rank from = owner();
      return term(from, input_blocks(call, from)[me].offset + i - blocks[from].offset);
    }
    case Collective::barrier: break;
  }
  return std::nullopt;
}

template <typename T>
void run_case(Group& group, const Case& c) {
  const Call& call = c.call;
  const Rank me = group.rank();
  std::vector<T> own(call.count);
  const auto arena = group.allocate(call.count * sizeof(T));
  const std::span<T> data =
      c.in_arena ? std::span(reinterpret_cast<T*>(arena.data()), call.count) : std::span(own);
  const Range block = data_blocks(call, me)[me];
  for (std::size_t i = 0; i < call.count; ++i) {
    const bool mine = puts_all_in(call, me) || (i >= block.offset && i < block.end());
    data[i] = stored<T>(mine ? term(me, i) : 99);
  }
  std::vector<T> input(call.collective == Collective::all_to_all ? input_blocks(call, me).count() : 0);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = stored<T>(term(me, i));

  group.run({call.collective, call.algorithm, c.reduction, c.dtype, call.root,
             reinterpret_cast<std::byte*>(data.data()), reinterpret_cast<const std::byte*>(input.data()),
             call.count, call.blocks});
  for (std::size_t i = 0; i < call.count; ++i) {
    const auto value = expected(c, me, i);
    if (!value) continue;
    const T want = stored<T>(*value);
    if (std::memcmp(&data[i], &want, sizeof(T)) != 0) {
      throw Error("{}: element {} of rank {} is {}, expected {}", text_of(c), i, me,
                  static_cast<double>(static_cast<float>(data[i])), *value);
    }
  }
}

void run_case(Group& group, const Case& c) {
  visit_dtype(c.dtype, [&]<typename T>(T) { run_case<T>(group, c); });
}

std::vector<Case> sample_of_cases(int world) {
  const DType dtypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8};
  const Reduction reductions[] = {Reduction::sum, Reduction::product, Reduction::max, Reduction::min,
                                  Reduction::mean};
  const auto n = static_cast<std::size_t>(world);
  const std::size_t counts[] = {0, 1, n - 1, n, n + 1, 1000, 20'011};
  std::vector<Case> cases;
  std::size_t turn = 0;  // Each way meets every dtype, reduction and count, though not every combination.
  for (const Collective collective : all_collectives()) {
    for (const Algorithm algorithm : all_algorithms()) {
      Call call{collective, algorithm, world};
      for (Rank rank = 0; rank < world; ++rank) call.group_of.push_back(rank / 2);
      if (!supports(call)) continue;
      for (std::size_t i = 0; i < 7; ++i, ++turn) {
        call.count = counts[i];
        call.root = static_cast<Rank>(turn % n);
        Case c{call, dtypes[(i + turn / 7) % 7], reductions[turn % 5], turn % 3 != 0};
        // A product of many small numbers overflows the small dtypes.
        if (c.reduction == Reduction::product && world > 5) c.reduction = Reduction::max;
        if (c.reduction == Reduction::mean && size_of(c.dtype) <= 2) c.reduction = Reduction::min;
        cases.push_back(c);
      }
    }
  }
  return cases;
}

class GroupOver : public testing::TestWithParam<std::tuple<Medium, int>> {};

TEST_P(GroupOver, EveryWayGivesTheSerialResult) {
  const Medium medium = std::get<0>(GetParam());
  const int world = std::get<1>(GetParam());
  const std::vector<Case> cases = sample_of_cases(world);
  GroupOptions options;
  for (Rank rank = 0; rank < world; ++rank) options.group_of.push_back(rank / 2);
  const auto body = [&](std::unique_ptr<Transport> transport) {
    Group group(std::move(transport), options);
    const bool shares_memory = group.transport().shared_memory() != nullptr;
    for (const Case& c : cases) {
      if (c.call.algorithm != Algorithm::direct || shares_memory) run_case(group, c);
    }
  };
  EXPECT_THAT(run_ranks(world, body, medium), Each(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Worlds, GroupOver,
                         testing::Combine(testing::Values(Medium::inproc, Medium::shm, Medium::tcp,
                                                          Medium::hosts),
                                          testing::Values(1, 2, 3, 4, 5, 7, 8)),
                         [](const auto& over) {
                           return name_of(std::get<0>(over.param)) + std::to_string(std::get<1>(over.param));
                         });
INSTANTIATE_TEST_SUITE_P(LargeWorld, GroupOver, testing::Values(std::tuple(Medium::inproc, 16)));

// Messages and elements that a schedule sends and receives.
Traffic traffic_in(const Schedule& schedule) {
  Traffic traffic;
  Round round;
  for (int i = 0; i < schedule.rounds(); ++i) {
    schedule.round(i, round);
    for (const Action& action : round) {
      if (!action.is_message()) continue;
      (action.is_send() ? traffic.messages_sent : traffic.messages_received) += 1;
      (action.is_send() ? traffic.bytes_sent : traffic.bytes_received) += action.range.size;
    }
  }
  return traffic;
}

// Without messages a rank counts what it moves itself: it reads its block from every peer and writes it to
// every peer.
Traffic traffic_of_direct(const Call& call, Rank me) {
  const auto others = static_cast<std::uint64_t>(call.world - 1);
  const std::uint64_t elements = 2 * others * split_evenly(call.count, call.world, me).size;
  return {2 * others, elements, 2 * others, elements};
}

TEST(Group, CountsWhatTheScheduleSends) {
  for (const int world : {2, 3, 4, 5, 8}) {
    const auto errors = run_ranks(world, [&](std::unique_ptr<Transport> transport) {
      Group group(std::move(transport));
      const auto memory = group.allocate(10'007 * sizeof(float));
      const std::span data(reinterpret_cast<float*>(memory.data()), std::size_t{10'007});
      for (const Algorithm algorithm : all_algorithms()) {
        const Call call{Collective::all_reduce, algorithm, world, data.size()};
        if (!supports(call)) continue;
        const Traffic before = group.traffic();
        group.all_reduce(data, Reduction::sum, algorithm);
        const Traffic want = algorithm == Algorithm::direct ? traffic_of_direct(call, group.rank())
                                                            : traffic_in(schedule_of(call, group.rank()));
        const Traffic& now = group.traffic();
        EXPECT_EQ(now.bytes_sent - before.bytes_sent, want.bytes_sent * sizeof(float)) << name_of(algorithm);
        EXPECT_EQ(now.bytes_received - before.bytes_received, want.bytes_received * sizeof(float))
            << name_of(algorithm);
        EXPECT_EQ(now.messages_sent - before.messages_sent, want.messages_sent) << name_of(algorithm);
        EXPECT_EQ(now.messages_received - before.messages_received, want.messages_received)
            << name_of(algorithm);
      }
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
}

TEST(Group, RankOrderIsTheSameBitForBitWhateverTheAlgorithm) {
  const auto errors = run_ranks(5, [](std::unique_ptr<Transport> transport) {
    Group group(std::move(transport));
    std::vector<std::vector<float>> results;
    for (const Algorithm algorithm : all_algorithms()) {
      const Call call{Collective::all_reduce, algorithm, 5, 4099};
      if (!keeps_rank_order(algorithm) || !supports(call)) continue;
      std::vector<float> data(call.count);
      for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = std::sin(static_cast<float>(i * 7 + static_cast<std::size_t>(group.rank()) * 1001)) * 1e3F;
      }
      group.all_reduce(std::span(data), Reduction::sum, algorithm);
      results.push_back(data);
    }
    EXPECT_GE(results.size(), 4U);
    for (const auto& result : results) EXPECT_EQ(result, results.front());
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(Group, ARankThatCallsSomethingElseIsAnErrorOnAllThatShowsBothCalls) {
  for (const Algorithm algorithm : {Algorithm::direct, Algorithm::ring, Algorithm::sharded}) {
    const auto errors = run_ranks(3, [&](std::unique_ptr<Transport> transport) {
      Group group(std::move(transport));
      std::vector<float> data(20'000);
      const std::size_t count = group.rank() == 1 ? 19'999 : 20'000;
      group.all_reduce(std::span(data).first(count), Reduction::sum, algorithm);
      group.barrier(Algorithm::bruck);
    });
    EXPECT_THAT(errors, Each(HasSubstr("20000 f32"))) << name_of(algorithm);
    EXPECT_THAT(errors, Each(HasSubstr("19999 f32")));
  }
}

TEST(Group, SplitGroupsWorkSideBySide) {
  const auto errors = run_ranks(4, [](std::unique_ptr<Transport> transport) {
    Group all(std::move(transport));
    const std::vector<Rank> members = all.rank() < 2 ? std::vector<Rank>{0, 1} : std::vector<Rank>{2, 3};
    Group half = all.split(members, 1 + static_cast<unsigned>(all.rank() / 2));
    std::vector<int> data(1000, all.rank());
    half.all_reduce(std::span(data));
    EXPECT_THAT(data, Each(all.rank() < 2 ? 1 : 5));
    all.all_reduce(std::span(data));
    EXPECT_THAT(data, Each(12));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(Group, TheFlightRecordSaysWhatWasUnderWay) {
  const auto errors = run_ranks(2, [](std::unique_ptr<Transport> transport) {
    Group group(std::move(transport));
    std::vector<float> data(100);
    group.all_reduce(std::span(data));
    if (group.rank() == 1) return;
    EXPECT_THROW(group.broadcast(std::span(data), 1, Algorithm::binomial), NetError);
    EXPECT_THAT(group.flight_record(), HasSubstr("all_reduce #1 of group 0, 100 f32, sum, direct, took"));
    EXPECT_THAT(group.flight_record(),
                HasSubstr("broadcast #2 of group 0, 100 f32, root 1, binomial, not finished"));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(Group, LosingAnyOneMessageIsReportedAndNeverHangs) {
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::sharded, Algorithm::halving_doubling, Algorithm::binomial}) {
    for (int nth = 1;; ++nth) {
      DropNthSend fault(nth);
      const auto body = [&](std::unique_ptr<Transport> transport) {
        Group group(std::make_unique<LossyTransport>(std::move(transport), fault));
        std::vector<float> data(100, 1);
        group.all_reduce(std::span(data), Reduction::sum, algorithm);
        group.barrier(Algorithm::bruck);
      };
      const auto errors = run_ranks(3, body, Medium::inproc, Seconds(0.02));
      const auto failed =
          std::count_if(errors.begin(), errors.end(), [](const auto& error) { return !error.empty(); });
      if (!fault.fired()) {  // Fewer than nth messages in all: each one has been dropped once.
        EXPECT_EQ(failed, 0) << name_of(algorithm);
        break;
      }
      EXPECT_GT(failed, 0) << name_of(algorithm) << ": message " << nth;
    }
  }
}

TEST(AsyncGroup, OperationsFinishInOrderWhileTheCallerGoesOn) {
  const auto errors = run_ranks(3, [](std::unique_ptr<Transport> transport) {
    Group group(std::move(transport));
    AsyncGroup async(group);
    std::vector<std::vector<float>> buffers(20, std::vector<float>(1000, 1));
    std::vector<AsyncGroup::Handle> handles;
    for (auto& buffer : buffers) {
      handles.push_back(async.start({Collective::all_reduce, Algorithm::ring, Reduction::sum, DType::f32, 0,
                                     reinterpret_cast<std::byte*>(buffer.data()), nullptr, buffer.size()}));
    }
    async.wait(handles.back());
    for (const auto handle : handles) EXPECT_TRUE(async.is_done(handle));
    for (const auto& buffer : buffers) EXPECT_THAT(buffer, Each(3));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(AsyncGroup, AFailureReachesWhoWaits) {
  const auto errors = run_ranks(2, [](std::unique_ptr<Transport> transport) {
    Group group(std::move(transport));
    if (group.rank() == 1) return;
    AsyncGroup async(group);
    std::vector<float> data(1000);
    const Operation sum{Collective::all_reduce,
                        Algorithm::ring,
                        Reduction::sum,
                        DType::f32,
                        0,
                        reinterpret_cast<std::byte*>(data.data()),
                        nullptr,
                        data.size()};
    async.start(sum);
    EXPECT_THROW(async.wait(async.start(sum)), NetError);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

}  // namespace
}  // namespace hocket
