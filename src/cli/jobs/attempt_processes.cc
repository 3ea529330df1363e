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
#include "net/job_key.h"
#include "net/socket.h"

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

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

std::string own_program() { return fs::read_symlink("/proc/self/exe").string(); }

Words train_command(const StartAttempt& start) {
  Words words{own_program(), "train"};
  append(words, start.words);
  append(words, {"--resume", "--out", start.home + "/run", "--workers", std::to_string(start.workers)});
  return words;
}

std::string meeting_of(const StartAttempt& start) {
  return fmt::format("{}/meeting-{}", start.home, start.which.attempt);
}

// The launcher of a gang on several machines, or on the others an agent of it.
Words gang_command(const StartAttempt& start, const SchedulerPlace& place) {
  const std::string meeting = meeting_of(start);
  Words words{own_program(), "launch", "--key-file", "-"};
  if (place.plaintext) words.emplace_back("--plaintext");
  if (start.part > 0) {
    append(words, {"--agent", "file:" + meeting, "--host", std::to_string(start.part)});
    return words;
  }
  std::string hosts;
  for (const AttemptPart& part : start.parts)
    hosts += fmt::format("{}{}:{}", hosts.empty() ? "" : ",", part.machine, part.workers);
  append(words, {"--hosts", hosts, "--meeting", meeting, "--address",
                 local_address_towards(place.address().address), "--interruption", "1000000000", "--"});
  append(words, train_command(start));
  return words;
}

// By which the parts of an attempt know each other.
std::string gang_key(const StartAttempt& start, const SchedulerPlace& place) {
  const std::string use = fmt::format("job {} attempt {}", start.which.job, start.which.attempt);
  return to_hex(derived_key(place.key(), use)) + '\n';
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
  attempt.leads = start.part == 0;
  attempt.log = start.home + (attempt.leads ? "/log" : fmt::format("/log-{}", start.part));
  attempt.mark =
      fmt::format("HOCKET_JOBS_ATTEMPT={}/{}.{}.{}", start.home, start.which.attempt, start.part, ::getpid());
  if (attempt.leads) attempt.metrics = start.home + "/run/metrics.jsonl";
  attempt.last_row = last_training_row(attempt.metrics);
  const FileDescriptor log = open_log(attempt.log);
  const std::string title =
      fmt::format("[start {} with {} workers on {}]\n", start.which.attempt, start.workers, machine_);
  if (::write(log.get(), title.data(), title.size()) != static_cast<ssize_t>(title.size()))
    throw Error("cannot write {}: {}", attempt.log, std::strerror(errno));

  ProcessOptions options;
  const bool is_gang = start.parts.size() > 1;
  options.words = is_gang ? gang_command(start, place_) : train_command(start);
  if (is_gang) {
    options.input = gang_key(start, place_);
    attempt.meeting = meeting_of(start);
  }
  options.environment = this_environment();
  options.environment.insert(options.environment.end(), marks_.begin(), marks_.end());
  options.environment.push_back(attempt.mark);
  options.folder = start.folder;
  options.output_fd = log.get();
  attempt.process = start_process(options);
  attempts_.emplace(start.which, std::move(attempt));
}

void AttemptProcesses::interrupt(const JobAttempt& which) {
  if (const auto found = attempts_.find(which); found != attempts_.end() && found->second.leads)
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
    if (current->second.leads && !current->second.meeting.empty()) ::unlink(current->second.meeting.c_str());
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
