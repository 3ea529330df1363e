#include "base/error.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "report/report.h"
#include "train/file_system.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

int run_report(const Arguments& arguments) {
  if (arguments.words().empty()) throw ConfigError("report: which run? Give one run folder or more");
  std::vector<RunData> runs;
  for (const std::string& folder : arguments.words()) runs.push_back(load_run(folder));
  const fs::path beside =
      runs.size() == 1 ? fs::path(arguments.words().front()) / "report.html" : fs::path("report.html");
  const std::string out = arguments.text("out", beside.string());
  write_file_atomically(posix_file_system(), out, render_report(runs));
  write_output(out + '\n');
  return kDone;
}

}  // namespace

Command report_command() {
  Command command;
  command.name = "report";
  command.summary = "write an HTML page of one run or several side by side";
  command.usages = {"DIR... [--out FILE]"};
  command.options = {{"out", "FILE", "the page (DIR/report.html, or report.html for several runs)"},
                     {"help", "", "show this"}};
  command.examples = {"hocket report runs/a runs/b --out compare.html"};
  command.max_words = 1000;
  command.run = run_report;
  return command;
}

}  // namespace hocket
