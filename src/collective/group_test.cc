#include "collective/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "base/error.h"
#include "collective/async_group.h"
#include "collective/blocks.h"
#include "collective/group_cases.h"
#include "net/drop_nth_send.h"
#include "net/run_ranks.h"

namespace hocket {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

class GroupOver : public testing::TestWithParam<std::tuple<Medium, int>> {};

TEST_P(GroupOver, EveryWayGivesTheSerialResult) {
  const Medium medium = std::get<0>(GetParam());
  const int world = std::get<1>(GetParam());
  const std::vector<Case> cases = sample_of_cases(world);
  const auto body = [&](std::unique_ptr<Transport> transport) {
    Group group(std::move(transport), options_for_cases(world));
    run_cases(group, cases);
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
    bool has_messages = false;
    for (const Action& action : round) {
      if (!action.is_message()) continue;
      has_messages = true;
      (action.is_send() ? traffic.messages_sent : traffic.messages_received) += 1;
      (action.is_send() ? traffic.bytes_sent : traffic.bytes_received) += action.range.size;
    }
    traffic.rounds += has_messages ? 1 : 0;
  }
  return traffic;
}

// Without messages a rank counts what it moves itself: it reads its block from every peer and writes it to
// every peer.
Traffic traffic_of_direct(const Call& call, Rank me) {
  const auto others = static_cast<std::uint64_t>(call.world - 1);
  const std::uint64_t elements = 2 * others * split_evenly(call.count, call.world, me).size;
  return {2 * others, elements, 2 * others, elements, 2};
}

// Every element is summed once, by one rank, and all see in common memory what came of it. As much is counted
// as for an all_reduce.
void expect_sums_used_once(Group& group) {
  const int ranks = group.size(), others = ranks - 1;
  for (const std::size_t count : {std::size_t{16}, std::size_t{64}, std::size_t{10'000}}) {
    const auto own = group.allocate(count * sizeof(float));
    const auto common = group.allocate_common(count * sizeof(float));
    auto* terms = reinterpret_cast<float*>(own.data());
    auto* results = reinterpret_cast<float*>(common.data());
    for (std::size_t i = 0; i < count; ++i)
      terms[i] = static_cast<float>(i) + static_cast<float>(group.rank());
    const std::uint64_t before = group.traffic().bytes_sent;
    std::size_t used = 0;
    Operation sum;
    sum.data = own.data();
    sum.count = count;
    group.sum_and_use(sum, 48, [&](Range summed) {
      used += summed.size;
      for (std::size_t i = summed.offset; i < summed.end(); ++i) results[i] += 2 * terms[i];
    });
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(results[i],
                2 * static_cast<float>(ranks) * static_cast<float>(i) + static_cast<float>(ranks * others));
    EXPECT_EQ(group.traffic().bytes_sent - before,
              2 * static_cast<std::size_t>(others) * used * sizeof(float));
    auto all = static_cast<std::int64_t>(used);
    group.all_reduce(std::span(&all, 1));
    EXPECT_EQ(all, static_cast<std::int64_t>(count));
  }
}

TEST(Group, SumsAndUsesEachElementOnce) {
  for (const Medium medium : {Medium::inproc, Medium::shm}) {
    for (const int world : {2, 3, 4, 5, 7, 8}) {
      const auto body = [](std::unique_ptr<Transport> transport) {
        Group group(std::move(transport));
        expect_sums_used_once(group);
      };
      EXPECT_THAT(run_ranks(world, body, medium), Each(IsEmpty()));
    }
  }
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
        EXPECT_EQ(now.rounds - before.rounds, want.rounds) << name_of(algorithm);
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

TEST(Group, ARankThatSumsSomethingElseForItsUpdatesIsAnErrorOnAll) {
  for (const Medium medium : {Medium::inproc, Medium::shm}) {
    const auto body = [](std::unique_ptr<Transport> transport) {
      Group group(std::move(transport));
      Operation sum;
      sum.count = group.rank() == 1 ? 512 : 1024;
      sum.data = group.allocate(1024 * sizeof(float)).data();
      group.sum_and_use(sum, 64, [](Range) {});
      group.barrier(Algorithm::bruck);
    };
    const auto errors = run_ranks(3, body, medium);
    EXPECT_THAT(errors, Each(HasSubstr("1024 f32")));
    EXPECT_THAT(errors, Each(HasSubstr("512 f32")));
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
    GroupOptions options;
    options.flight_folder = testing::TempDir();
    const std::filesystem::path written = options.flight_folder / "flight-rank-0.txt";
    if (transport->rank() == 0) std::filesystem::remove(written);
    Group group(std::move(transport), options);
    std::vector<float> data(100);
    group.all_reduce(std::span(data));
    if (group.rank() == 1) return;
    EXPECT_THROW(group.broadcast(std::span(data), 1, Algorithm::binomial), NetError);
    EXPECT_THAT(group.flight_record(), HasSubstr("all_reduce #1 of group 0, 100 f32, sum, direct, took"));
    EXPECT_THAT(group.flight_record(),
                HasSubstr("broadcast #2 of group 0, 100 f32, root 1, binomial, not finished"));
    std::ifstream file(written);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    EXPECT_THAT(text, HasSubstr("rank 1"));
    EXPECT_THAT(text, HasSubstr("binomial, not finished"));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

// How many ranks fail when the nth message of two collectives is lost.
std::ptrdiff_t failures_without(DropNthSend& fault, Algorithm algorithm, Seconds deadline) {
  const auto body = [&](std::unique_ptr<Transport> transport) {
    Group group(std::make_unique<LossyTransport>(std::move(transport), fault));
    std::vector<float> data(100, 1);
    group.all_reduce(std::span(data), Reduction::sum, algorithm);
    group.barrier(Algorithm::bruck);
  };
  const auto errors = run_ranks(3, body, Medium::inproc, deadline);
  return std::count_if(errors.begin(), errors.end(), [](const auto& error) { return !error.empty(); });
}

TEST(Group, LosingAnyOneMessageIsReportedAndNeverHangs) {
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::sharded, Algorithm::halving_doubling, Algorithm::binomial}) {
    DropNthSend none(1 << 20);
    EXPECT_EQ(failures_without(none, algorithm, Seconds(20)), 0) << name_of(algorithm);
    EXPECT_GE(none.sends(), 8) << name_of(algorithm);
    for (int nth = 1; nth <= none.sends(); ++nth) {
      DropNthSend fault(nth);
      EXPECT_GT(failures_without(fault, algorithm, Seconds(0.02)), 0)
          << name_of(algorithm) << ": message " << nth;
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

TEST(AsyncGroup, RunsOperationsInTheOrderOfTheirTurns) {
  const auto errors = run_ranks(2, [](std::unique_ptr<Transport> transport) {
    Group group(std::move(transport));
    std::vector<std::size_t> ran;
    AsyncGroup async(group, [&](const Operation& operation, auto) { ran.push_back(operation.count); });
    std::vector<float> data(8, 1);
    const auto sum_of = [&](std::size_t count) {
      return Operation{Collective::all_reduce,
                       Algorithm::ring,
                       Reduction::max,
                       DType::f32,
                       0,
                       reinterpret_cast<std::byte*>(data.data()),
                       nullptr,
                       count};
    };
    const AsyncGroup::Handle first = async.reserve(3);
    // Ranks start them in different orders, which are not that of the turns.
    async.start(sum_of(3), first + 2);
    async.start(sum_of(group.rank() == 0 ? 2 : 1), first + (group.rank() == 0 ? 1 : 0));
    const AsyncGroup::Handle behind = async.start(sum_of(4));
    EXPECT_FALSE(async.is_done(first + 2));
    async.start(sum_of(group.rank() == 0 ? 1 : 2), first + (group.rank() == 0 ? 0 : 1));
    async.wait(behind);
    EXPECT_THAT(ran, testing::ElementsAre(1, 2, 3, 4));
    async.reserve(1);  // A turn that nobody takes keeps nothing waiting at the end.
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
