#include "cli/compare/trial_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

namespace hocket {
namespace {

constexpr std::string_view kPrefix = "hocket: ";

ProcessOptions options_of(const std::vector<std::string>& words) {
  ProcessOptions options;
  options.words = {std::filesystem::read_symlink("/proc/self/exe").string()};
  options.words.insert(options.words.end(), words.begin(), words.end());
  for (char** variable = environ; *variable != nullptr; ++variable)
    options.environment.emplace_back(*variable);
  options.pipes_output = true;
  return options;
}

// Appends what there is to read; closes a pipe that has ended.
void drain(FileDescriptor& from, std::string& text) {
  std::array<char, 4096> buffer;
  while (from.is_open()) {
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) from.reset();
    if (got <= 0) return;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::string line_around(const std::string& text, std::size_t at) {
  const std::size_t before = text.rfind('\n', at);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const std::string line = text.substr(begin, text.find('\n', at) - begin);
  return line.starts_with(kPrefix) ? line.substr(kPrefix.size()) : line;
}

}  // namespace

TrialProcess::TrialProcess(const std::vector<std::string>& words)
    : process_(start_process(options_of(words))) {}

TrialProcess::~TrialProcess() {
  if (!has_ended_) reap();
}

void TrialProcess::reap() {
  ::kill(-process_.pid, SIGKILL);  // Also what it started and left behind.
  while (::waitpid(process_.pid, &status_, 0) < 0 && errno == EINTR) {
  }
  has_ended_ = true;
}

bool TrialProcess::wait(std::chrono::milliseconds most) {
  if (has_ended_) return true;
  std::array<pollfd, 3> polls{};
  nfds_t count = 0;
  for (const FileDescriptor* each : {&process_.exit, &process_.out, &process_.err}) {
    if (each->is_open()) polls[count++] = {each->get(), POLLIN, 0};
  }
  ::poll(polls.data(), count, static_cast<int>(most.count()));
  pollfd ended = {process_.exit.get(), POLLIN, 0};
  const bool has_ended = ::poll(&ended, 1, 0) > 0;  // Before its last output is read, not after.
  read_output();
  if (has_ended) reap();
  return has_ended_;
}

void TrialProcess::interrupt() {
  if (!has_ended_) ::kill(process_.pid, SIGINT);
}

void TrialProcess::read_output() {
  std::string results;  // They are in summary.json.
  drain(process_.out, results);
  drain(process_.err, errors_);
}

int TrialProcess::exit_code() const {
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::string TrialProcess::last_words() const {
  const std::size_t at = errors_.rfind(kPrefix);
  return at == std::string::npos ? exit_text(status_) : line_around(errors_, at);
}

std::string TrialProcess::words_about(std::string_view subject) const {
  const std::size_t at = errors_.find(subject);
  return at == std::string::npos ? "" : line_around(errors_, at);
}

}  // namespace hocket
