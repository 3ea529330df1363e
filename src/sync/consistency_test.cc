#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "sync/discipline.h"

namespace hocket {

bool operator==(const Verdict::Term& a, const Verdict::Term& b) {
  return a.serial == b.serial && a.weight == b.weight;
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Term = Verdict::Term;

std::unique_ptr<Consistency> make(std::string_view text, int workers) {
  return make_consistency(Discipline::parse(text), workers)();
}

TEST(Bsp, UpdatesOnceAllSlicesAreThereInTheirOrder) {
  const auto bsp = make("ps:bsp", 3);
  EXPECT_THAT(bsp->on_push({10, 2, 0, 0}, 0).update, IsEmpty());
  EXPECT_THAT(bsp->on_push({11, 0, 0, 0}, 0).update, IsEmpty());
  EXPECT_TRUE(bsp->may_read(0, 0, 0));
  EXPECT_FALSE(bsp->may_read(0, 1, 0));
  EXPECT_THAT(bsp->on_push({12, 1, 0, 0}, 0).update, ElementsAre(Term{11, 1}, Term{12, 1}, Term{10, 1}));
  EXPECT_TRUE(bsp->may_read(0, 1, 1));
}

TEST(Bsp, DropsWhatComesTwice) {
  const auto bsp = make("ps:bsp", 2);
  bsp->on_push({1, 0, 0, 0}, 0);
  EXPECT_THAT(bsp->on_push({2, 0, 0, 0}, 0).dropped, ElementsAre(2));
  bsp->on_worker_lost(1, 0);
  EXPECT_THAT(bsp->on_push({3, 1, 0, 0}, 0).update, ElementsAre(Term{1, 1}, Term{3, 1}));
  EXPECT_THAT(bsp->on_push({4, 1, 0, 0}, 1).dropped, ElementsAre(4));  // Taken over already.
  EXPECT_THAT(bsp->on_push({5, 7, 1, 1}, 1).dropped, ElementsAre(5));  // No such slice.
}

TEST(Asp, AppliesOnArrivalScaled) {
  EXPECT_THAT(make("ps:asp", 4)->on_push({1, 3, 9, 2}, 17).update, ElementsAre(Term{1, 1}));
  EXPECT_THAT(make("ps:asp,scale=1", 4)->on_push({1, 3, 9, 2}, 17).update, ElementsAre(Term{1, 4}));
  EXPECT_THAT(make("downpour,scale=0.5", 4)->on_push({1, 3, 9, 2}, 17).update, ElementsAre(Term{1, 2}));
  EXPECT_TRUE(make("ps:asp", 4)->may_read(0, 1000, 0));
}

TEST(Ssp, HoldsTheFastUntilTheSlowestIsNear) {
  const auto ssp = make("ps:ssp,s=2", 2);
  for (std::int64_t clock = 0; clock < 3; ++clock) {
    EXPECT_TRUE(ssp->may_read(0, clock, 0));
    EXPECT_THAT(ssp->on_push({clock, 0, clock, 0}, 0).update, ElementsAre(Term{clock, 1}));
  }
  EXPECT_FALSE(ssp->may_read(0, 3, 3));
  ssp->on_push({9, 1, 0, 0}, 3);
  EXPECT_TRUE(ssp->may_read(0, 3, 4));
  EXPECT_FALSE(ssp->may_read(0, 4, 4));
}

TEST(Ssp, CountsFromTheBatchThatTrainingGoesOnWith) {
  const auto ssp = make("ps:ssp,s=1", 2);
  EXPECT_TRUE(ssp->may_read(0, 100, 0));
  ssp->on_push({1, 0, 100, 0}, 0);
  EXPECT_TRUE(ssp->may_read(1, 100, 1));
  EXPECT_TRUE(ssp->may_read(0, 101, 1));
  ssp->on_push({2, 0, 101, 0}, 1);
  EXPECT_FALSE(ssp->may_read(0, 102, 2));
}

TEST(Ssp, WaitsNotForTheLostNorForWhatTheyMissed) {
  const auto ssp = make("ps:ssp,s=1", 2);
  ssp->on_push({0, 1, 0, 0}, 0);
  for (std::int64_t clock = 0; clock < 2; ++clock) ssp->on_push({1 + clock, 0, clock, 0}, 0);
  ssp->on_push({5, 0, 2, 0}, 0);
  EXPECT_FALSE(ssp->may_read(0, 3, 0));
  ssp->on_worker_lost(1, 0);
  for (std::int64_t clock = 3; clock < 20; ++clock) {
    EXPECT_TRUE(ssp->may_read(0, clock, 0));
    ssp->on_push({10 + clock, 0, clock, 0}, 0);
  }
  ssp->on_worker_joined(1);
  EXPECT_TRUE(ssp->may_read(1, 1, 0));
  EXPECT_TRUE(ssp->may_read(0, 20, 0));
  ssp->on_push({50, 1, 1, 0}, 0);  // Far behind: nobody waits for it yet.
  EXPECT_TRUE(ssp->may_read(0, 21, 0));
  EXPECT_TRUE(ssp->may_read(1, 2, 0));
  ssp->on_push({51, 1, 18, 0}, 0);  // It has caught up.
  EXPECT_TRUE(ssp->may_read(0, 20, 0));
  EXPECT_FALSE(ssp->may_read(0, 21, 0));
  EXPECT_FALSE(ssp->may_read(1, 22, 0));  // With worker 0 still in batch 20.
}

TEST(KOfN, WaitsForTheFirstFew) {
  const auto kofn = make("ps:kofn,k=2", 3);
  EXPECT_THAT(kofn->on_push({1, 2, 0, 0}, 0).update, IsEmpty());
  EXPECT_THAT(kofn->on_push({2, 2, 0, 0}, 0).dropped, ElementsAre(2));  // At most one a slice.
  EXPECT_THAT(kofn->on_push({3, 0, 0, 0}, 0).update, ElementsAre(Term{3, 1.5}, Term{1, 1.5}));
  EXPECT_THAT(kofn->on_push({4, 1, 0, 0}, 1).dropped, ElementsAre(4));  // Late.
  EXPECT_FALSE(kofn->may_read(1, 2, 1));
  EXPECT_TRUE(kofn->may_read(1, 1, 1));
}

TEST(KOfN, MergesTheLateIntoTheNext) {
  const auto kofn = make("ps:kofn,k=2,late=merge", 3);
  kofn->on_push({1, 0, 0, 0}, 0);
  kofn->on_push({2, 1, 0, 0}, 0);
  const Verdict late = kofn->on_push({3, 2, 0, 0}, 1);
  EXPECT_THAT(late.update, IsEmpty());
  EXPECT_THAT(late.dropped, IsEmpty());
  kofn->on_push({4, 1, 1, 1}, 1);
  EXPECT_THAT(kofn->on_push({5, 0, 1, 1}, 1).update, ElementsAre(Term{5, 1}, Term{4, 1}, Term{3, 1}));
}

TEST(KOfN, WaitsForNoMoreThanAreLive) {
  const auto kofn = make("ps:kofn,k=3", 3);
  kofn->on_push({1, 1, 0, 0}, 0);
  EXPECT_THAT(kofn->on_worker_lost(2, 0).update, IsEmpty());
  EXPECT_THAT(kofn->on_worker_lost(0, 0).update, ElementsAre(Term{1, 3}));
  kofn->on_worker_joined(0);
  EXPECT_THAT(kofn->on_push({2, 1, 1, 1}, 1).update, IsEmpty());
  EXPECT_THAT(kofn->on_push({3, 0, 1, 1}, 1).update, ElementsAre(Term{3, 1.5}, Term{2, 1.5}));
}

TEST(SoftSync, TakesSoManyOfWhicheverWorkers) {
  const auto softsync = make("ps:softsync,n=2", 5);  // Two gradients an update.
  EXPECT_THAT(softsync->on_push({1, 4, 0, 0}, 0).update, IsEmpty());
  EXPECT_THAT(softsync->on_push({2, 4, 1, 0}, 0).update, ElementsAre(Term{1, 2.5}, Term{2, 2.5}));
  EXPECT_TRUE(softsync->may_read(0, 99, 0));
}

TEST(SoftSync, DividesTheRateByTheStaleness) {
  const auto softsync = make("ps:softsync,n=1,rate=staleness", 4);
  softsync->on_push({1, 0, 0, 8}, 10);
  softsync->on_push({2, 1, 0, 10}, 10);
  softsync->on_push({3, 2, 0, 9}, 10);
  EXPECT_THAT(softsync->on_push({4, 3, 0, 0}, 10).update,
              ElementsAre(Term{1, 0.5}, Term{2, 1}, Term{3, 1}, Term{4, 0.1}));
}

TEST(Consistency, RefusesStateThatNobodySaved) {
  for (const std::string_view text :
       {"ps:bsp", "ps:ssp,s=2", "ps:asp", "ps:kofn,k=2,late=merge", "ps:softsync,n=1"}) {
    const auto original = make(text, 3);
    original->on_push({1, 0, 0, 0}, 0);
    original->on_push({2, 1, 0, 0}, 0);
    std::vector<std::byte> saved = original->save();
    const auto copy = make(text, 3);
    for (std::size_t size = 0; size < saved.size(); ++size)
      EXPECT_THROW(copy->restore(std::span(saved).first(size)), NetError) << text << " " << size;
    copy->restore(saved);
    EXPECT_EQ(copy->save(), saved) << text;
    saved.push_back(std::byte{0});
    EXPECT_THROW(copy->restore(saved), NetError) << text;
  }
}

}  // namespace
}  // namespace hocket
