#include "train/run_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public testing::Test {
 protected:
  RunFolderTest() {
    std::string name = testing::TempDir() + "hocket_runs_XXXXXX";
    parent_ = ::mkdtemp(name.data());
  }
  ~RunFolderTest() override { fs::remove_all(parent_); }

  fs::path parent_;
};

TEST_F(RunFolderTest, IsNamedAfterTimeModelAndSync) {
  const auto now = std::chrono::system_clock::now();
  const RunFolder run = RunFolder::create(parent_ / "runs", now, "resnet,depth=20", "ps:ssp,s=3");
  std::string name = run.path().filename().string();
  for (char& c : name) c = c >= '0' && c <= '9' ? '9' : c;
  EXPECT_EQ(name, "99999999-999999-resnet-depth=99-ps-ssp-s=9");
  EXPECT_TRUE(fs::is_directory(run.path()));
  EXPECT_EQ(run.metrics_file(), run.path() / "metrics.jsonl");
}

TEST_F(RunFolderTest, TwoRunsOfOneSecondGetTwoFolders) {
  const auto now = std::chrono::system_clock::now();
  const RunFolder first = RunFolder::create(parent_, now, "mlp", "allreduce");
  const RunFolder second = RunFolder::create(parent_, now, "mlp", "allreduce");
  const RunFolder third = RunFolder::create(parent_, now, "mlp", "allreduce");
  EXPECT_EQ(second.path(), first.path().string() + "-2");
  EXPECT_EQ(third.path(), first.path().string() + "-3");
}

TEST_F(RunFolderTest, AModelFilesPathStaysInsideTheName) {
  const RunFolder run = RunFolder::create(parent_, {}, "file:../../etc/pass\nwd" + std::string(500, 'x'), "");
  EXPECT_EQ(run.path().parent_path(), parent_);
  EXPECT_LT(run.path().filename().string().size(), 100U);
}

TEST_F(RunFolderTest, AFolderThatCannotBeMadeIsNamed) {
  try {
    RunFolder run("/proc/hocket/run");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot create /proc/hocket/run: "), std::string::npos)
        << error.what();
  }
}

TEST(RenderConfig, WritesTablesValuesAndOrigins) {
  const std::vector<Setting> settings{
      {"train.lr", 1.0, "default"},
      {"model", std::string("a\"b\\c\n"), "command line"},
      {"train.epochs", std::int64_t{3}, "run.toml:4\n[evil]"},
      {"optimizer.nesterov", true, "environment HOCKET_OPTIMIZER__NESTEROV"},
      {"optimizer.odd key", 1e-30, "default"},
  };
  EXPECT_EQ(render_config(settings),
            "model = \"a\\\"b\\\\c\\u000a\"  # command line\n"
            "\n"
            "[train]\n"
            "lr = 1.0  # default\n"
            "epochs = 3  # run.toml:4 [evil]\n"
            "\n"
            "[optimizer]\n"
            "nesterov = true  # environment HOCKET_OPTIMIZER__NESTEROV\n"
            "\"odd key\" = 1e-30  # default\n");
}

}  // namespace
}  // namespace hocket
