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

}  // namespace

TrialProcess::TrialProcess(const std::vector<std::string>& words)
    : process_(start_process(options_of(words))) {}

TrialProcess::~TrialProcess() {
  ::kill(-process_.pid, SIGKILL);  // Also what it may have left behind.
  if (!has_ended_) ::waitpid(process_.pid, nullptr, 0);
}

bool TrialProcess::wait(std::chrono::milliseconds most) {
  if (has_ended_) return true;
  std::array<pollfd, 3> polls{};
  nfds_t count = 0;
  for (const FileDescriptor* each : {&process_.exit, &process_.out, &process_.err}) {
    if (each->is_open()) polls[count++] = {each->get(), POLLIN, 0};
  }
  ::poll(polls.data(), count, static_cast<int>(most.count()));
  has_ended_ = ::waitpid(process_.pid, &status_, WNOHANG) == process_.pid;
  read_output();
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
  if (at == std::string::npos) return exit_text(status_);
  const std::string line = errors_.substr(at + kPrefix.size());
  return line.substr(0, line.find('\n'));
}

}  // namespace hocket
