#include "train/metrics.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <limits>
#include <vector>

#include "base/error.h"

namespace hocket {
namespace {

class MetricsLogTest : public testing::Test {
 protected:
  ~MetricsLogTest() override { std::filesystem::remove(path_); }

  std::vector<std::string> lines() const {
    std::vector<std::string> result;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) result.push_back(line);
    return result;
  }

  const std::filesystem::path path_ =
      testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
};

TEST_F(MetricsLogTest, ARowIsOneJsonLineAndOnDiskAtOnce) {
  MetricsLog log(path_);
  const std::vector<std::pair<std::string, double>> norms{{"fc1", 0.5}, {"f\"c", 2}};
  log.write({.step = 1,
             .epoch = 0.25,
             .seconds = 1.5,
             .loss = 2.5,
             .accuracy = 0.5,
             .learning_rate = 0.1,
             .samples_per_second = 1000,
             .gradient_norm = 3,
             .gradient_norms = norms,
             .tau = 16});
  EXPECT_EQ(
      lines().at(0),
      R"({"kind":"train","step":1,"epoch":0.25,"seconds":1.5,"loss":2.5,"accuracy":0.5,"learning_rate":0.1,)"
      R"("samples_per_second":1000,"gradient_norm":3,"tau":16,"gradient_norms":{"fc1":0.5,"f\"c":2}})");
  log.write(EvalMetrics{.step = 1, .epoch = 1, .seconds = 2, .loss = 0.25, .accuracy = 0.9});
  EXPECT_EQ(lines().at(1),
            R"({"kind":"eval","step":1,"epoch":1,"seconds":2,"set":"test","loss":0.25,"accuracy":0.9})");
}

TEST_F(MetricsLogTest, WhatIsNotFiniteIsNull) {
  MetricsLog log(path_);
  TrainMetrics row;
  row.loss = std::numeric_limits<double>::quiet_NaN();
  row.learning_rate = std::numeric_limits<double>::infinity();
  log.write(row);
  EXPECT_NE(lines().at(0).find(R"("loss":null,"learning_rate":null)"), std::string::npos) << lines().at(0);
}

TEST_F(MetricsLogTest, ResumingDropsLaterStepsAndATornLine) {
  {
    MetricsLog log(path_);
    for (const std::int64_t step : {1, 2, 3, 4}) log.write(EvalMetrics{.step = step});
  }
  std::ofstream(path_, std::ios::app) << R"({"kind":"train","step":2)";
  {
    MetricsLog log(path_, 2);
    log.write(EvalMetrics{.step = 30});
  }
  ASSERT_EQ(lines().size(), 3U);
  EXPECT_NE(lines()[1].find("\"step\":2,"), std::string::npos);
  EXPECT_NE(lines()[2].find("\"step\":30,"), std::string::npos);
}

TEST_F(MetricsLogTest, ResumingWithoutAFileStartsOne) {
  MetricsLog log(path_, 7);
  EXPECT_TRUE(lines().empty());
}

TEST_F(MetricsLogTest, AFullDiskIsReported) {
  MetricsLog log(path_);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  EXPECT_THROW(log.write(EvalMetrics{}), Error);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

}  // namespace
}  // namespace hocket
