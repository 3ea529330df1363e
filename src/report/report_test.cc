#include "report/report.h"

#include <gtest/gtest.h>

#include <limits>

#include "report/chart_js.h"
#include "report/compare_js.h"
#include "report/page_js.h"
#include "report/report_js.h"
#include "report/test_evil.h"
#include "report/timeline_js.h"

namespace hocket {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

RunData run_of(const std::string& text) {
  RunData run;
  run.label = text;
  run.summary = {{"status", text}, {"model", text}, {"data", text}, {"emulated", "false"}, {text, text}};
  run.settings = {{text, text, text}};
  run.series["train/loss"] = {{1, 0.1, 2, 3}, {2, 0.2, 4, std::numeric_limits<double>::quiet_NaN()}};
  run.series["eval/" + text + "/loss"] = {{2, 0.2, 4, 1}};
  run.layers = {{text, {{1, 0.1, 2, 0.5}}}};
  run.ranks = {{.compute = 1, .wait = 2}};
  run.trace = {.lanes = {{text, text}}, .names = {{text, text}}, .spans = {{0, 0, 1, 2}}};
  run.notices = {text};
  return run;
}

TEST(RenderReport, TextOfARunIsNeverMarkup) {
  const RunData evil = run_of(kEvil);
  const RunData good = run_of("plain");
  for (const std::vector<RunData>& runs : {std::vector{evil}, std::vector{evil, good}}) {
    const std::string html = render_report(runs);
    EXPECT_EQ(html.find(kEvil), std::string::npos);
    EXPECT_EQ(html.find("<script>"), std::string::npos);
    EXPECT_EQ(html.find("alert(1)</script>"), std::string::npos);
    EXPECT_EQ(count_of(html, "</script>"), 6U);
    EXPECT_NE(html.find("&lt;script&gt;alert(1)"), std::string::npos);
  }
}

TEST(RenderReport, LoadsNothingAndLetsOnlyItsOwnScriptsRun) {
  const std::string html = render_report(std::vector{run_of("plain")});
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  const std::string before = "script-src 'nonce-";
  const std::string nonce = html.substr(html.find(before) + before.size(), 32);
  EXPECT_EQ(nonce.find_first_not_of("0123456789abcdef"), std::string::npos) << nonce;
  EXPECT_EQ(count_of(html, "<script nonce=\"" + nonce + "\">"), 5U);
  EXPECT_EQ(render_report(std::vector{run_of("plain")}).find(nonce), std::string::npos);
  for (const char* loading : {" src=", " href=", "@import", "url("}) {
    EXPECT_EQ(html.substr(0, html.find("<script nonce")).find(loading), std::string::npos) << loading;
  }
}

TEST(RenderReport, EmbeddedScriptsCannotEndTheirElement) {
  for (const std::string_view script : {kChartJs, kPageJs, kReportJs, kTimelineJs, kCompareJs}) {
    EXPECT_GT(script.size(), 1000U);
    EXPECT_EQ(script.find("</script"), std::string_view::npos);
    EXPECT_EQ(script.find("<!--"), std::string_view::npos);
  }
}

TEST(RenderReport, SaysWhatIsEmulated) {
  RunData run = run_of("plain");
  EXPECT_EQ(render_report(std::vector{run}).find("emulated</span>"), std::string::npos);
  run.summary[3].second = "true";
  EXPECT_NE(render_report(std::vector{run}).find("emulated</span>"), std::string::npos);
  EXPECT_NE(render_report(std::vector{run}).find("are emulated"), std::string::npos);
}

TEST(RenderReport, OnlyWhatWasMeasuredHasAChart) {
  const auto charts = [](const RunData& run) { return count_of(render_report(std::vector{run}), "<canvas"); };
  EXPECT_EQ(charts(RunData{}), 0U);
  EXPECT_EQ(charts(run_of("plain")), 4U);  // Loss, layers, where the time went, timeline.
}

TEST(RenderReport, SeveralRanksHaveATableOfSeconds) {
  RunData run = run_of("plain");
  EXPECT_EQ(render_report(std::vector{run}).find("Seconds of each rank"), std::string::npos);
  run.ranks.push_back({.compute = 4, .communication = 2.5, .exposed = 0.125});
  const std::string html = render_report(std::vector{run});
  EXPECT_NE(html.find("<tr><th>rank 1</th><td class=\"number\">4.000</td><td class=\"number\">2.500</td>"
                      "<td class=\"number\">0.125</td>"),
            std::string::npos);
}

TEST(RenderReport, MarksSettingsThatDiffer) {
  RunData first = run_of("plain");
  RunData second = first;
  const std::string marker = "<tr class=\"differs\"><th>plain</th>";
  EXPECT_EQ(count_of(render_report(std::vector{first, second}), marker), 0U);
  second.settings[0].value = "other";
  EXPECT_EQ(count_of(render_report(std::vector{first, second}), marker), 1U);
}

}  // namespace
}  // namespace hocket
