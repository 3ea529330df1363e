#include "report/serve/live_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "base/error.h"
#include "report/jobs_page.h"
#include "report/serve/live_curves.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class LiveRunsTest : public testing::Test {
 protected:
  LiveRunsTest() {
    std::string name = testing::TempDir() + "run-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~LiveRunsTest() override { fs::remove_all(folder_); }

  void write(const char* text) const {
    std::ofstream(folder_ / "metrics.jsonl", std::ios::app) << text << '\n';
  }

  fs::path folder_;
};

TEST_F(LiveRunsTest, AFolderIsReadAgainWhenItHasChanged) {
  LiveRuns runs({folder_}, "/api/runs");
  EXPECT_THROW(runs.data(), DataError);
  std::ofstream(folder_ / "config.toml") << "[train]\nmodel = \"mlp\"  # command line\n";
  write(R"({"kind":"train","step":1,"loss":2.5})");
  const std::string first = runs.data();
  EXPECT_THAT(first, HasSubstr(R"("train/loss":[[1,0,0,2.5]])"));
  EXPECT_EQ(runs.data(), first);
  const std::string page = runs.page();
  EXPECT_THAT(page, HasSubstr("connect-src 'self';"));
  EXPECT_THAT(page, HasSubstr("<h1>mlp"));  // What it was told, while there is no summary.
  EXPECT_THAT(page, HasSubstr(R"("api":"/api/runs")"));
  write(R"({"kind":"train","step":2,"loss":1.5})");
  std::string second = runs.data();
  for (int i = 0; i < 1000 && second == first; ++i) second = runs.data();  // It takes its time to read again.
  EXPECT_THAT(second, HasSubstr("[2,0,0,1.5]"));
}

TEST_F(LiveRunsTest, CurvesOfARunThatHasNotBegunAreNull) {
  LiveCurves curves;
  EXPECT_EQ(curves.of(folder_), "null");
  write(R"({"kind":"train","step":1,"loss":2.5})");
  write(R"({"kind":"eval","set":"test","step":1,"loss":2,"accuracy":0.5})");
  EXPECT_EQ(curves.of(folder_),
            R"({"loss":{"test":[[1,2]],"train":[[1,2.5]]},"accuracy":{"test":[[1,0.5]]}})");
}

TEST(JobsPage, TextOfAJobIsNeverMarkup) {
  const std::string page = render_jobs_page(R"({"jobs":[{"name":"</script><img src=x>"}]})");
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script\\u003e"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

}  // namespace
}  // namespace hocket
