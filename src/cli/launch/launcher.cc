#include "cli/launch/launcher.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "cli/launch/rank_process.h"
#include "cli/terminal.h"

namespace hocket {
namespace {

constexpr Seconds kFailureLook{0.1};  // How often the coordinator is asked for failures.

void write_all(OutputKind kind, std::string_view text) {
  if (kind == OutputKind::err) return write_raw(text);
  try {
    write_output(text);
  } catch (const std::exception&) {  // Nobody reads along; the ranks go on.
  } catch (const ClosedOutput&) {
  }
}

void signal_all(std::vector<std::unique_ptr<RankSet>>& sets, int number) {
  for (auto& set : sets) set->signal(number);
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? static_cast<int>(kPeerFailed) : WEXITSTATUS(status);
}

}  // namespace

Launcher::Launcher(const LaunchOptions& options, CoordinatorServer& coordinator, SignalsToPoll& signals)
    : ranks_explain_(options.ranks_explain),
      supervisor_({.world_size = options.world_size(), .interruption = options.interruption}),
      output_(options.tags_output, write_all),
      coordinator_(coordinator),
      signals_(signals) {}

int Launcher::run(Sets& sets) {
  while (!supervisor_.is_over()) {
    wait(sets);
    take_signals(sets);
    for (auto& set : sets) set->progress(*this);
    look_at_coordinator();
    while (const auto number = supervisor_.take_signal(Clock::now())) signal_all(sets, *number);
  }
  return report_end();
}

void Launcher::wait(const Sets& sets) const {
  std::vector<pollfd> polls{{signals_.fd(), POLLIN, 0}};
  for (const auto& set : sets) set->add_to(polls);
  ::poll(polls.data(), polls.size(), milliseconds_until(supervisor_.next_deadline(after(kFailureLook))));
}

void Launcher::take_signals(Sets& sets) {
  while (const auto number = signals_.take()) {
    if (*number == SIGTSTP) {
      pause(sets);
    } else {
      supervisor_.on_interrupt(*number == SIGHUP ? SIGTERM : *number, Clock::now());
    }
  }
}

// Ranks stop with their launcher, so that nobody takes the silence for death.
void Launcher::pause(Sets& sets) const {
  signal_all(sets, SIGSTOP);
  ::raise(SIGSTOP);
  signal_all(sets, SIGCONT);
}

void Launcher::look_at_coordinator() {
  if (coordinator_.failure()) supervisor_.on_job_failure(Clock::now());
}

void Launcher::on_start(Rank rank, int pid, const std::string& host) {
  places_[rank] = fmt::format("pid {} on {}", pid, host);
}

void Launcher::on_output(Rank rank, OutputKind kind, std::string_view bytes) {
  output_.take(rank, kind, bytes);
}

void Launcher::on_exit(Rank rank, int status) {
  output_.end(rank);
  coordinator_.report_exit(rank, exit_text(status));
  supervisor_.on_exit(rank, status, Clock::now());
}

std::string Launcher::name_of(Rank rank) const {
  const auto place = places_.find(rank);
  return place == places_.end() ? fmt::format("rank {}", rank)
                                : fmt::format("rank {} ({})", rank, place->second);
}

// Ranks that notice a failure also end, some before the one that failed: whom the ranks blame counts most.
int Launcher::report_end() {
  if (const auto signal = supervisor_.interrupt()) {
    if (!ranks_explain_) {
      write_message(fmt::format("hocket: {} ended the ranks", *signal == SIGINT ? "Ctrl-C" : "SIGTERM"));
    }
    return *signal == SIGINT ? kInterrupted : kTerminated;
  }
  const auto failure = coordinator_.failure();
  const auto first = supervisor_.first_failure();
  if (!failure && !first) return kDone;
  const bool is_blamed = failure && places_.count(failure->culprit) > 0;
  const Rank culprit = is_blamed ? failure->culprit : first.value_or(0);
  const auto status = supervisor_.status(culprit);
  if (!ranks_explain_ || !status || !WIFEXITED(*status)) report_failure(culprit);
  if (supervisor_.has_failed(culprit)) return exit_code_of(*supervisor_.status(culprit));
  return first ? exit_code_of(*supervisor_.status(*first)) : static_cast<int>(kPeerFailed);
}

void Launcher::report_failure(Rank rank) {
  std::vector<std::string> said;
  if (supervisor_.has_failed(rank)) {
    said.push_back(fmt::format("{} {}", name_of(rank), exit_text(*supervisor_.status(rank))));
  }
  const auto failure = coordinator_.failure();
  if (failure && (said.empty() || said.front() != failure->what)) said.push_back(failure->what);
  std::string text = fmt::format("hocket: {}", fmt::join(said, "\nhocket: "));
  const auto& lines = output_.last_lines(rank);
  if (!lines.empty()) text += fmt::format("\nhocket: the last lines of rank {}:", rank);
  for (const std::string& line : lines) text += "\n  " + line;
  write_message(text);
}

}  // namespace hocket
