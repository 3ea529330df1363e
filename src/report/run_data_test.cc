#include "report/run_data.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "train/metrics.h"
#include "train/run_folder.h"
#include "train/summary.h"
#include "train/trace.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

class LoadRun : public testing::Test {
 protected:
  LoadRun() {
    std::string name = testing::TempDir() + "hocket_run_XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~LoadRun() override { fs::remove_all(folder_); }

  void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  std::string error() const {
    try {
      load_run(folder_);
    } catch (const DataError& failure) {
      return failure.what();
    }
    return "no error";
  }

  fs::path folder_;
};

TEST_F(LoadRun, ReadsWhatTheTrainerWrites) {
  {
    MetricsLog log(folder_ / "metrics.jsonl");
    const std::vector<std::pair<std::string, double>> norms{{"z.first", 0.5}, {"a.second", 0.25}};
    log.write(TrainMetrics{.step = 1, .epoch = 0.5, .seconds = 2, .loss = 3, .gradient_norms = norms});
    log.write(TrainMetrics{.step = 2, .epoch = 1, .seconds = 4, .loss = std::nan("")});
    log.write(EvalMetrics{.step = 2, .epoch = 1, .seconds = 4, .loss = 1, .accuracy = 0.75});
  }
  Summary summary;
  summary.model = "lenet";
  summary.emulated = true;
  summary.test_accuracy = 0.75;
  summary.ranks.push_back({.train_seconds = 10,
                           .compute_seconds = 6,
                           .comm_seconds = 3,
                           .exposed_comm_seconds = 1,
                           .wait_seconds = 1});
  write_summary(folder_ / "summary.json", summary);
  const std::vector<Setting> settings{{"train.lr", 0.5, "command line"}};
  write("config.toml", render_config(settings));
  Timeline timeline;
  const auto forward = timeline.add_name("forward", SpanKind::compute);
  timeline.record(forward, timeline.add_thread("main"), {}, {});
  write("trace.json", chrome_trace(timeline.events(2, timeline.origin(), 1 << 16)));

  const RunData run = load_run(folder_ / "");
  EXPECT_EQ(run.label, folder_.filename());
  EXPECT_EQ(run.series.at("train/loss").size(), 2U);
  EXPECT_EQ(run.series.at("train/loss")[0].seconds, 2);
  EXPECT_TRUE(std::isnan(run.series.at("train/loss")[1].value));
  EXPECT_EQ(run.series.at("eval/test/accuracy").at(0).value, 0.75);
  ASSERT_EQ(run.layers.size(), 2U);
  EXPECT_EQ(run.layers[0].first, "z.first");
  EXPECT_EQ(run.find_summary("model"), "lenet");
  EXPECT_EQ(run.find_number("test_accuracy"), 0.75);
  EXPECT_EQ(run.find_number("time_to_target"), std::nullopt);
  EXPECT_TRUE(run.is_emulated());
  ASSERT_EQ(run.ranks.size(), 1U);
  EXPECT_EQ(run.ranks[0].communication, 3);
  EXPECT_EQ(run.ranks[0].exposed, 1);
  EXPECT_EQ(run.ranks[0].other, 2);  // Communication behind the computation takes no time of its own.
  ASSERT_EQ(run.settings.size(), 1U);
  EXPECT_EQ(run.settings[0].key, "train.lr");
  ASSERT_EQ(run.trace.lanes.size(), 1U);
  EXPECT_EQ(run.trace.lanes[0].process, "rank 2");
  EXPECT_EQ(run.trace.lanes[0].thread, "main");
  EXPECT_EQ(run.trace.names.at(0).kind, "compute");
  EXPECT_EQ(run.trace.spans.size(), 1U);
  EXPECT_EQ(run.notices, std::vector<std::string>{"The training loss is not a finite number at step 2."});
}

TEST_F(LoadRun, ARunUnderWayIsShownAsFarAsItGot) {
  write("metrics.jsonl", "{\"kind\":\"train\",\"step\":1,\"loss\":2}\n{\"kind\":\"tra");
  const RunData run = load_run(folder_);
  EXPECT_EQ(run.series.at("train/loss").size(), 1U);
  EXPECT_EQ(run.notices.size(), 1U);
}

TEST_F(LoadRun, WhatIsNoRunFolderIsRefused) {
  EXPECT_NE(error().find("neither metrics.jsonl nor summary.json"), std::string::npos) << error();
  EXPECT_THROW(load_run(folder_ / "missing"), DataError);
}

TEST_F(LoadRun, ADamagedFileIsNamedWithItsLine) {
  write("metrics.jsonl", "{\"step\":1}\n{\"step\":}\n");
  EXPECT_NE(error().find("metrics.jsonl:2: expected a JSON object"), std::string::npos) << error();
  write("metrics.jsonl", "[1]\n");
  EXPECT_NE(error().find("metrics.jsonl:1: expected a JSON object"), std::string::npos) << error();
  write("metrics.jsonl", "");
  write("summary.json", "{");
  EXPECT_NE(error().find("summary.json: expected a JSON object"), std::string::npos) << error();
  write("summary.json", "{}");
  write("trace.json", "{}");
  EXPECT_NE(error().find("trace.json: expected an array traceEvents"), std::string::npos) << error();
}

TEST_F(LoadRun, ValuesOfTheWrongTypeAreLeftOut) {
  write("summary.json",
        R"({"model":7,"emulated":"yes","ranks":[1,{"compute_seconds":"x"}],"odd":{"a":[1]}})");
  write("metrics.jsonl", R"({"kind":3,"step":"x","loss":"y","gradient_norms":[1],"accuracy":true})"
                         "\n");
  write("trace.json", R"({"traceEvents":[1,{"ph":"X"},{"ph":"M","args":3},{"ph":4}],"otherData":[]})");
  const RunData run = load_run(folder_);
  EXPECT_FALSE(run.is_emulated());
  EXPECT_TRUE(run.series.empty());
  EXPECT_EQ(run.trace.spans.size(), 1U);
}

TEST_F(LoadRun, ALongTraceKeepsItsNewestSpans) {
  write("summary.json", "{}");
  Timeline timeline(30'000);
  const auto name = timeline.add_name("step", SpanKind::compute);
  const auto thread = timeline.add_thread("main");
  for (int i = 0; i < 30'005; ++i) timeline.record(name, thread, {}, {});
  write("trace.json", chrome_trace(timeline.events(0, timeline.origin(), 1 << 16)));
  const RunData run = load_run(folder_);
  EXPECT_EQ(run.trace.spans.size(), 20'000U);
  EXPECT_EQ(run.trace.dropped, 10'005U);
}

TEST_F(LoadRun, KeepsTheNewestSpansOfAllRanksAlike) {
  constexpr int kSpans = 15'000;
  TraceEvents events;
  for (const int rank : {0, 1}) {
    const Timeline::Time origin{};
    Timeline timeline(kSpans, origin);
    const auto name = timeline.add_name("forward", SpanKind::compute);
    const auto thread = timeline.add_thread("training");
    for (int i = 0; i < kSpans; ++i) {
      const Timeline::Time start = origin + std::chrono::microseconds(2 * i + rank);
      timeline.record(name, thread, start, start);
    }
    events.json += timeline.events(rank, origin, kSpans).json;
  }
  write("summary.json", "{}");
  write("trace.json", chrome_trace(events));
  std::map<std::size_t, int> spans;  // By lane.
  for (const TraceSpan& span : load_run(folder_).trace.spans) ++spans[span.lane];
  EXPECT_EQ(spans, (std::map<std::size_t, int>{{0, 10'000}, {1, 10'000}}));
}

TEST(ParseSettings, ReadsTablesValuesAndOrigins) {
  const auto settings = parse_settings(
      "# a comment\nmodel = \"a # \\\" b\"  # command line\n\n[train]\nlr = 0.1  # base.toml:3 # "
      "really\nbatch = 4\n[x");
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].key, "model");
  EXPECT_EQ(settings[0].value, "\"a # \\\" b\"");
  EXPECT_EQ(settings[0].origin, "command line");
  EXPECT_EQ(settings[1].key, "train.lr");
  EXPECT_EQ(settings[1].value, "0.1");
  EXPECT_EQ(settings[1].origin, "base.toml:3 # really");
  EXPECT_EQ(settings[2].origin, "");
}

TEST(ParseSettings, DamagedLinesDoNoHarm) {
  for (const char* text : {"[", "]", "a = ", "a = \"", "a = \"\\", " = ", "=", "[\n]\n = \"x"})
    parse_settings(text);
}

}  // namespace
}  // namespace hocket
