#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/jobs/live_jobs.h"
#include "cli/launch/signals_to_poll.h"
#include "cli/terminal.h"
#include "report/jobs_page.h"
#include "report/serve/live_runs.h"
#include "report/serve/page_server.h"

namespace hocket {
namespace {

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kJson = "application/json";

PageServer::Answer runs_answer(const std::vector<std::string>& folders) {
  auto runs = std::make_shared<LiveRuns>(std::vector<std::filesystem::path>(folders.begin(), folders.end()),
                                         "/api/runs");
  runs->data();  // Throws now rather than to the first reader.
  return [runs](const std::string& path) -> std::optional<PageAnswer> {
    if (path == "/") return PageAnswer{kHtml, runs->page()};
    if (path == "/api/runs") return PageAnswer{kJson, runs->data()};
    return std::nullopt;
  };
}

PageServer::Answer jobs_answer(const SchedulerPlace& place) {
  place.key();  // Throws where no scheduler has been.
  auto jobs = std::make_shared<LiveJobs>(place);
  return [jobs](const std::string& path) -> std::optional<PageAnswer> {
    if (path == "/") return PageAnswer{kHtml, render_jobs_page(jobs->data())};
    if (path == "/api/jobs") return PageAnswer{kJson, jobs->data()};
    return std::nullopt;
  };
}

PageServer::Answer answer_of(const Arguments& arguments) {
  if (arguments.has("run") == arguments.has("jobs"))
    throw ConfigError(
        "serve: what? Give --run DIR, once or more, or --jobs DIR, the folder of hocket jobs serve");
  if (arguments.has("run")) return runs_answer(arguments.all("run"));
  return jobs_answer(place_at(arguments.text("jobs"), arguments));
}

int run_serve(const Arguments& arguments) {
  const auto port = static_cast<std::uint16_t>(arguments.integer("port", 0, 0, 65535));
  SignalsToPoll signals{SIGINT, SIGTERM};
  const PageServer server(port, answer_of(arguments));
  write_output(server.address() + '\n');
  while (!signals.take()) wait_for(signals.fd(), POLLIN, after(Seconds(3600)));
  return kDone;
}

}  // namespace

Command serve_command() {
  Command command;
  command.name = "serve";
  command.summary = "show runs or the queue of jobs in a browser while they go on";
  command.usages = {"--run DIR... [--port N]", "--jobs DIR [--port N]"};
  command.options = {{"run", "DIR", "a run folder, as for hocket report; give it again for each run"},
                     {"jobs", "DIR", "the scheduler's folder, as of hocket jobs --dir"},
                     {"port", "N", "where to listen on 127.0.0.1 (any free port)"},
                     {"server", "ADDRESS:PORT", "where the scheduler listens (as its folder says)"},
                     {"plaintext", "", "authenticate, but do not encrypt between hosts"},
                     {"help", "", "show this"}};
  command.examples = {"hocket serve --run runs/a --run runs/b",
                      "hocket serve --jobs /shared/jobs --port 8080"};
  command.run = run_serve;
  return command;
}

}  // namespace hocket
