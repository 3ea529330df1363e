#include "train/summary.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace hocket {
namespace {

TEST(Summary, HasEveryKeyThatScriptsDependOn) {
  Summary summary;
  summary.test_accuracy = 0.91;
  summary.ranks.resize(2);
  summary.ranks[1].cpu_seconds = 4.5;
  const auto written = nlohmann::json::parse(to_json(summary));
  for (const char* key : {"model",
                          "data",
                          "workers",
                          "servers",
                          "mesh",
                          "sync",
                          "zero",
                          "compress",
                          "restarts",
                          "algorithm",
                          "transport",
                          "dtype",
                          "seed",
                          "emulated",
                          "steps",
                          "samples",
                          "wall_seconds",
                          "train_seconds",
                          "cpu_seconds",
                          "compute_seconds",
                          "comm_seconds",
                          "wait_seconds",
                          "samples_per_second",
                          "test_accuracy",
                          "test_loss",
                          "best_test_accuracy",
                          "time_to_target",
                          "bytes_sent",
                          "messages_sent",
                          "exposed_comm_fraction",
                          "staleness",
                          "peak_rss_bytes",
                          "parameter_hash",
                          "version"}) {
    EXPECT_TRUE(written.contains(key)) << key;
  }
  EXPECT_EQ(written["test_accuracy"], 0.91);
  EXPECT_TRUE(written["time_to_target"].is_null());
  EXPECT_EQ(written["ranks"][1]["rank"], 1);
  EXPECT_EQ(written["ranks"][1]["cpu_seconds"], 4.5);
}

TEST(Summary, TextThatIsNotUtf8StaysJson) {
  Summary summary;
  summary.model = "file:\xff\"<script>";
  EXPECT_EQ(nlohmann::json::parse(to_json(summary))["model"], "file:\xef\xbf\xbd\"<script>");
}

TEST(Summary, IsReplacedAsAWhole) {
  const std::filesystem::path path = testing::TempDir() + "summary_replaced.json";
  write_summary(path, {});
  Summary second;
  second.steps = 7;
  write_summary(path, second);
  std::ifstream file(path);
  EXPECT_EQ(nlohmann::json::parse(file)["steps"], 7);
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".tmp"));
  std::filesystem::remove(path);
  EXPECT_THROW(write_summary(path / "below" / "summary.json", {}), Error);
}

}  // namespace
}  // namespace hocket
