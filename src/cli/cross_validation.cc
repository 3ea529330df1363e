#include "cli/cross_validation.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/units.h"
#include "report/report.h"
#include "train/file_system.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Spread {
  double mean = 0;
  double deviation = 0;  // Of the sample: over n - 1.
};

Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  for (const double value : values) spread.mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return spread;
}

std::vector<double> values_of(const CrossValidation& all, std::optional<double> Summary::*member) {
  std::vector<double> values;
  for (const Run& run : all.runs) {
    if (run.summary.*member) values.push_back(*(run.summary.*member));
  }
  return values;
}

OrderedJson spread_json(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  const Spread spread = spread_of(values);
  return {{"mean", spread.mean}, {"deviation", spread.deviation}};
}

void write_files(const CrossValidation& all) {
  std::vector<RunData> data;
  for (const Run& run : all.runs) data.push_back(load_run(run.folder.path()));
  write_file_atomically(posix_file_system(), all.folder.summary_file(), to_json(all));
  write_file_atomically(posix_file_system(), all.folder.report_file(), render_report(data));
}

}  // namespace

int CrossValidation::exit_code(int when_interrupted) const {
  int code = kDone;
  for (const Run& run : runs) {
    if (const int its = run.exit_code(when_interrupted); its != kDone) code = its;
  }
  return code;
}

bool is_cross_validation(const Settings& settings) { return settings.folds() > 0 && settings.fold() == 0; }

CrossValidation cross_validate(const Settings& settings, const RunFolder& folder, const Start& start,
                               Progress& progress, const std::atomic<bool>& stop, Team& team) {
  if (team.is_first())
    write_file_atomically(posix_file_system(), folder.config_file(), render_config(settings.effective()));
  CrossValidation all{folder, settings.folds(), {}};
  for (int fold = 1; fold <= all.folds && !team.any(stop); ++fold) {
    progress.note(fmt::format("fold {} of {}", fold, all.folds));
    Settings one = settings;
    one.set(*find_key("train.fold"), std::to_string(fold), "--fold", "cross-validation");
    const RunFolder its_folder(folder.path() / fmt::format("fold-{}", fold));
    all.runs.push_back(execute_run(one, its_folder, start, progress, stop, team));
  }
  if (team.is_first()) write_files(all);
  return all;
}

std::string describe(const CrossValidation& all) {
  std::string text =
      fmt::format("{:<8}{:>15}{:>12}  {}\n", "fold", "test accuracy", "test loss", "parameter hash");
  for (std::size_t i = 0; i < all.runs.size(); ++i) {
    const Summary& summary = all.runs[i].summary;
    text += fmt::format(
        "{:<8}{:>15}{:>12}  {}\n", i + 1, summary.test_accuracy ? percent_text(*summary.test_accuracy) : "-",
        summary.test_loss ? fmt::format("{:.4f}", *summary.test_loss) : "-", summary.parameter_hash);
  }
  if (const auto accuracies = values_of(all, &Summary::test_accuracy); !accuracies.empty()) {
    const Spread spread = spread_of(accuracies);
    text +=
        fmt::format("test accuracy  {} ± {}\n", percent_text(spread.mean), percent_text(spread.deviation));
  }
  if (const auto losses = values_of(all, &Summary::test_loss); !losses.empty()) {
    const Spread spread = spread_of(losses);
    text += fmt::format("test loss      {:.4f} ± {:.4f}\n", spread.mean, spread.deviation);
  }
  return text + fmt::format("run folder     {}\nreport         {}\n", all.folder.path().string(),
                            all.folder.report_file().string());
}

std::string to_json(const CrossValidation& all) {
  OrderedJson json;
  json["folds"] = all.folds;
  json["test_accuracy"] = spread_json(values_of(all, &Summary::test_accuracy));
  json["test_loss"] = spread_json(values_of(all, &Summary::test_loss));
  json["runs"] = OrderedJson::array();
  for (const Run& run : all.runs) json["runs"].push_back(OrderedJson::parse(run_json(run)));
  json["run"] = all.folder.path().string();
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

}  // namespace hocket
