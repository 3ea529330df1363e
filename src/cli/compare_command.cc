#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/compare/compare_table.h"
#include "cli/compare/optimum.h"
#include "cli/compare/trials.h"
#include "cli/exit_code.h"
#include "cli/key_options.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "net/environment.h"
#include "report/comparison_json.h"
#include "report/comparison_page.h"
#include "train/file_system.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

const std::string kGroup = "comparing";

std::vector<Option> compare_options() {
  std::vector<Option> options{
      {"seeds", "N", "train every way N times, with seeds --seed and following (1)", kGroup},
      {"target-error", "SHARE", "test error to be reached, as in 0.1 (what every run reached)", kGroup},
      {"check-repeat", "", "train the first seed of every way once more and compare the bits", kGroup},
      {"price-worker-hour", "PRICE", "of a worker (0.05)", kGroup},
      {"price-gigabyte", "PRICE", "of what workers send (0.01)", kGroup},
      {"resume", "DIR", "go on with the comparison in DIR, where it was interrupted", kGroup}};
  for (Option& option : key_options()) {
    for (const WayColumn& column : way_columns()) {
      if (find_key(column.key)->flag() == option.flag)
        option.help += fmt::format("; several: 'A{}B', or repeated", column.separator);
    }
    if (option.flag == "eval-every") option.help = "test every so many steps (ten times an epoch)";
    if (option.flag == "out") option.help = "the folder of the comparison (runs/<time>-<model>-compare)";
    if (option.flag != "folds" && option.flag != "fold") options.push_back(std::move(option));
  }
  for (Option& option : settings_options()) options.push_back(std::move(option));
  for (Option& option : output_options()) options.push_back(std::move(option));
  return options;
}

fs::path plan_file(const fs::path& out) { return out / "plan.json"; }

void require_alone() {
  const Environment environment = detect_environment(process_variables());
  if (environment.source != Environment::Source::alone)
    throw ConfigError("compare starts workers itself, but this is {}", describe(environment));
}

ComparePlan resumed_plan(const Arguments& arguments, const fs::path& out) {
  for (const Option& option : compare_options()) {
    const bool may_stay = option.flag == "resume" || option.flag == "json" || option.flag == "quiet";
    if (!may_stay && arguments.has(option.flag))
      throw ConfigError("compare: --resume goes on as it was begun; leave out --{}", option.flag);
  }
  std::ifstream stream(plan_file(out), std::ios::binary);
  if (!stream) throw ConfigError("--resume {}: there is no comparison", out.string());
  std::ostringstream text;
  text << stream.rdbuf();
  return parse_plan(text.str(), plan_file(out).string());
}

fs::path new_folder(const ComparePlan& plan) {
  const TrainOptions options = plan.base.train_options();
  if (options.out.empty())
    return RunFolder::create("runs", std::chrono::system_clock::now(), options.model, "compare").path();
  if (fs::exists(plan_file(options.out)))
    throw ConfigError("{} holds a comparison already; go on with it by --resume, or choose another --out",
                      options.out);
  if (fs::exists(options.out) && !fs::is_empty(options.out))
    throw ConfigError("{} is not empty; choose another --out", options.out);
  return RunFolder(options.out).path();
}

void write_files(const fs::path& out, const Comparison& comparison, const Scores& scores) {
  write_file_atomically(posix_file_system(), out / "compare.json", to_json(comparison, scores));
  write_file_atomically(posix_file_system(), out / "compare.html",
                        render_comparison_page(comparison, scores));
}

std::string places(const fs::path& out, const Comparison& comparison) {
  std::string text =
      fmt::format("comparison     {}\nreport         {}\n", out.string(), (out / "compare.html").string());
  if (!comparison.is_complete())
    text += fmt::format("interrupted    go on with: hocket compare --resume {}\n", out.string());
  return text;
}

std::string printed_json(const fs::path& out, const Comparison& comparison, const Scores& scores) {
  auto json = nlohmann::ordered_json::parse(to_json(comparison, scores));
  json["run"] = out.string();
  json["report"] = (out / "compare.html").string();
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

void print(const fs::path& out, const Comparison& comparison, const Scores& scores,
           const Arguments& arguments) {
  const std::string text = describe(comparison, scores) + places(out, comparison);
  if (!arguments.has("json")) return write_output(text);
  if (!arguments.has("quiet")) write_raw(text);
  write_output(printed_json(out, comparison, scores));
}

int exit_code_of(const Comparison& comparison, const Scores& scores, int when_interrupted) {
  if (!comparison.is_complete()) return when_interrupted;
  for (const WayScore& score : scores.ways) {
    if (score.failed < score.runs) return kDone;
  }
  return kFailed;
}

int run_compare(const Arguments& arguments) {
  require_alone();
  const bool resumes = arguments.has("resume");
  fs::path out = arguments.text("resume");
  const ComparePlan plan = resumes ? resumed_plan(arguments, out) : plan_of(arguments);
  const std::vector<PlannedWay> ways = planned_ways(plan);
  if (!resumes) out = new_folder(plan);

  Comparison comparison = planned_comparison(plan, ways);
  if (resumes) load_trials(out, comparison);
  write_file_atomically(posix_file_system(), plan_file(out), to_json(plan));

  const StopSignals signals;
  CompareProgress progress(standard_error_terminal(), arguments.has("quiet"), comparison);
  run_trials(ways, out, comparison, progress, signals.stop());
  judge_by_optimum(ways, out, comparison, signals.stop());
  const Scores scores = score(comparison);
  write_files(out, comparison, scores);
  print(out, comparison, scores, arguments);
  return exit_code_of(comparison, scores, signals.exit_code());
}

}  // namespace

Command compare_command() {
  Command command;
  command.name = "compare";
  command.summary = "train a model several ways and score them: time to target, complexity, stability, cost";
  command.usages = {"[options]", "--resume DIR"};
  command.options = compare_options();
  command.examples = {
      "hocket compare --model lenet --data fashion-mnist --workers 1,2 --seeds 3 --target-error 0.12",
      "hocket compare --model gpt --data text:book.txt --mesh 'dp=2;tp=2' --zero 0,1 --steps 300",
      "hocket compare --model lenet --batch 32,128,512,2048 --lr-rule none,linear --epochs 3",
  };
  command.run = run_compare;
  return command;
}

}  // namespace hocket
