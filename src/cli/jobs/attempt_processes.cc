#include "cli/jobs/attempt_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "cli/launch/guard.h"
#include "cli/launch/rank_command.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTailBytes = 8192;

// The last whole line of `file` that begins with `start`, without it.
std::string last_line(const std::string& file, std::string_view start) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const std::int64_t size = in ? static_cast<std::int64_t>(in.tellg()) : 0;
  in.seekg(std::max<std::int64_t>(0, size - kTailBytes));
  std::string last;
  for (std::string line; std::getline(in, line) && !in.eof();) {
    if (line.starts_with(start)) last = line.substr(start.size());
  }
  return last;
}

// The last line of what hocket itself said.
std::string last_complaint(const std::string& log) { return last_line(log, "hocket: "); }

std::string last_training_row(const std::string& metrics) {
  return last_line(metrics, R"({"kind":"train",)");
}

double samples_per_second(const std::string& row) {
  constexpr std::string_view kName = R"("samples_per_second":)";
  const std::size_t at = row.find(kName);
  return at == std::string::npos ? 0 : std::strtod(row.c_str() + at + kName.size(), nullptr);
}

std::vector<std::string> command_of(const StartAttempt& start) {
  std::vector<std::string> words{fs::read_symlink("/proc/self/exe").string(), "train"};
  words.insert(words.end(), start.words.begin(), start.words.end());
  for (const std::string& word : {std::string("--resume"), std::string("--out"), start.home + "/run",
                                  std::string("--workers"), std::to_string(start.workers)})
    words.push_back(word);
  return words;
}

FileDescriptor open_log(const std::string& file) {
  FileDescriptor log(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log.is_open()) throw Error("cannot write {}: {}", file, std::strerror(errno));
  return log;
}

}  // namespace

void AttemptProcesses::start(const StartAttempt& start) {
  std::error_code error;
  fs::create_directories(start.home, error);
  if (error) throw Error("cannot make {}: {}", start.home, error.message());
  if (!fs::is_directory(start.folder))
    throw Error("cannot start in {}: there is no such folder", start.folder);
  Attempt attempt;
  attempt.log = start.home + "/log";
  attempt.mark = fmt::format("HOCKET_JOBS_ATTEMPT={}/{}.{}", start.home, start.which.attempt, ::getpid());
  attempt.metrics = start.home + "/run/metrics.jsonl";
  attempt.last_row = last_training_row(attempt.metrics);
  const FileDescriptor log = open_log(attempt.log);
  const std::string title =
      fmt::format("[start {} with {} workers on {}]\n", start.which.attempt, start.workers, machine_);
  if (::write(log.get(), title.data(), title.size()) != static_cast<ssize_t>(title.size()))
    throw Error("cannot write {}: {}", attempt.log, std::strerror(errno));

  ProcessOptions options;
  options.words = command_of(start);
  options.environment = this_environment();
  options.environment.insert(options.environment.end(), marks_.begin(), marks_.end());
  options.environment.push_back(attempt.mark);
  options.folder = start.folder;
  options.output_fd = log.get();
  attempt.process = start_process(options);
  attempts_.emplace(start.which, std::move(attempt));
}

void AttemptProcesses::interrupt(const JobAttempt& which) {
  if (const auto found = attempts_.find(which); found != attempts_.end())
    ::kill(found->second.process.pid, SIGINT);
}

void AttemptProcesses::kill(const JobAttempt& which) {
  if (const auto found = attempts_.find(which); found != attempts_.end())
    ::kill(-found->second.process.pid, SIGKILL);
}

void AttemptProcesses::add_to(std::vector<pollfd>& polls) const {
  for (const auto& [which, attempt] : attempts_) polls.push_back({attempt.process.exit.get(), POLLIN, 0});
}

std::vector<AttemptRate> AttemptProcesses::new_rates() {
  std::vector<AttemptRate> all;
  for (auto& [which, attempt] : attempts_) {
    std::string row = last_training_row(attempt.metrics);
    if (row.empty() || row == attempt.last_row) continue;
    all.push_back({which, samples_per_second(row)});
    attempt.last_row = std::move(row);
  }
  return all;
}

std::vector<AttemptEnded> AttemptProcesses::reap() {
  std::vector<AttemptEnded> all;
  for (auto each = attempts_.begin(); each != attempts_.end();) {
    const auto current = each++;
    int status = 0;
    if (::waitpid(current->second.process.pid, &status, WNOHANG) != current->second.process.pid) continue;
    end_marked_processes(current->second.mark);  // Ranks that it has left behind.
    AttemptEnded ended;
    ended.which = current->first;
    if (WIFSIGNALED(status)) {
      ended.signal = WTERMSIG(status);
    } else {
      ended.exit_code = WEXITSTATUS(status);
      if (ended.exit_code != 0) ended.last_line = last_complaint(current->second.log);
    }
    attempts_.erase(current);
    all.push_back(std::move(ended));
  }
  return all;
}

}  // namespace hocket
