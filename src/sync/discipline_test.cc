#include "sync/discipline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/test_files.h"

namespace hocket {
namespace {

std::string discipline_message(std::string_view text) {
  return message_of<ConfigError>([&] { Discipline::parse(text); });
}

TEST(Discipline, ReadsBackWhatItPrints) {
  for (const std::string_view text : {"allreduce",
                                      "ps:bsp",
                                      "ps:ssp,s=3",
                                      "ps:ssp,s=inf,scale=1",
                                      "ps:asp",
                                      "ps:asp,scale=0.25",
                                      "ps:asp,ahead=1",
                                      "ps:softsync,n=2,ahead=1",
                                      "ps:kofn,k=3",
                                      "ps:kofn,k=3,late=merge",
                                      "ps:softsync,n=2",
                                      "ps:softsync,n=2,rate=staleness",
                                      "downpour,nfetch=1,npush=1,adagrad=server",
                                      "downpour,nfetch=2,npush=5,adagrad=worker,warm=100,scale=1",
                                      "sandblaster",
                                      "sandblaster,portions=8,history=5",
                                      "local,tau=8",
                                      "adacomm,tau0=16",
                                      "adacomm,tau0=16,every=0.5s",
                                      "adacomm,tau0=9,every=100",
                                      "average",
                                      "average,steps=10,lazy=0",
                                      "mllib",
                                      "mapreduce",
                                      "mapreduce,cache=1",
                                      "hogwild",
                                      "hogwild,locked=1",
                                      "hogwild,rows=4",
                                      "gossip,graph=ring",
                                      "gossip,graph=file:a/b.txt,spread=0.5",
                                      "gossip-async,graph=torus"}) {
    EXPECT_EQ(Discipline::parse(text).text(), text);
    EXPECT_EQ(Discipline::parse(Discipline::parse(text).text()), Discipline::parse(text));
  }
  EXPECT_EQ(Discipline::parse("downpour").text(), "downpour,nfetch=1,npush=1,adagrad=server");
}

TEST(Discipline, NamesTheNearestWordItKnows) {
  EXPECT_THAT(discipline_message("ps:bps"), testing::HasSubstr("did you mean ps:bsp?"));
  EXPECT_EQ(Discipline::parse("gossip").graph, "ring");
  EXPECT_EQ(Discipline::parse("gossip-async").graph, "complete");
  EXPECT_THAT(discipline_message("gossip,graph=toris"), testing::HasSubstr("did you mean torus?"));
  EXPECT_THAT(discipline_message("downpur"), testing::HasSubstr("did you mean downpour?"));
  EXPECT_THAT(discipline_message("ps:kofn,k=3,lat=drop"), testing::HasSubstr("did you mean late?"));
  EXPECT_THAT(discipline_message("ps:kofn,k=3,late=merg"), testing::HasSubstr("did you mean merge?"));
  EXPECT_THAT(discipline_message("ps:softsync,n=3,rate=stale"),
              testing::HasSubstr("neither fixed nor staleness"));
}

TEST(Discipline, RefusesWhatMakesNoSense) {
  for (const std::string_view text : {"",
                                      "ps:ssp",
                                      "ps:ssp,s=-1",
                                      "ps:ssp,s=x",
                                      "ps:kofn",
                                      "ps:kofn,k=0",
                                      "ps:softsync,n=0",
                                      "ps:bsp,s=1",
                                      "downpour,nfetch=0",
                                      "downpour,npush=0",
                                      "downpour,adagrad=here",
                                      "ps:asp,scale=0",
                                      "ps:asp,scale=-1",
                                      "sandblaster,portions=0",
                                      "sandblaster,history=101",
                                      "local",
                                      "local,tau=0",
                                      "adacomm",
                                      "adacomm,tau0=4,every=0s",
                                      "adacomm,tau0=4,every=0",
                                      "average,lazy=2",
                                      "mapreduce,cache=yes",
                                      "mllib,tau=2"}) {
    EXPECT_THROW(Discipline::parse(text), ConfigError) << text;
  }
  EXPECT_THROW(Discipline::parse("ps:kofn,k=5").require_fit(4), ConfigError);
  EXPECT_THROW(Discipline::parse("ps:softsync,n=5").require_fit(4), ConfigError);
  EXPECT_NO_THROW(Discipline::parse("ps:kofn,k=4").require_fit(4));
}

TEST(Discipline, SetsTheWorkersUp) {
  const WorkerOptions bsp = worker_options(Discipline::parse("ps:bsp"), {.worker = 2, .batches = 9});
  EXPECT_EQ(bsp.worker, 2);
  EXPECT_EQ(bsp.batches, 9);
  EXPECT_TRUE(bsp.takes_over);
  EXPECT_FALSE(bsp.follows);
  EXPECT_TRUE(worker_options(Discipline::parse("ps:ssp,s=0"), {}).takes_over);
  EXPECT_FALSE(worker_options(Discipline::parse("ps:ssp,s=1"), {}).takes_over);
  EXPECT_TRUE(worker_options(Discipline::parse("ps:kofn,k=1"), {}).follows);
  const WorkerOptions downpour = worker_options(Discipline::parse("downpour,nfetch=2,npush=3,warm=7"), {});
  EXPECT_EQ(downpour.fetch_every, 2);
  EXPECT_EQ(downpour.push_every, 3);
  EXPECT_EQ(downpour.warm_start, 7);
}

}  // namespace
}  // namespace hocket
