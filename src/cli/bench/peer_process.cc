#include "cli/bench/peer_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "base/error.h"

namespace hocket {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error("cannot make a pipe: {}", std::strerror(errno));
  return {ends[0], ends[1]};
}

[[noreturn]] void run_child(const Pipe& input, const Pipe& output, const std::vector<int>& processors,
                            const std::function<void()>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // A child never outlives the measurement.
  ::dup2(input.read_end, STDIN_FILENO);
  ::dup2(output.write_end, STDOUT_FILENO);
  for (const int end : {input.read_end, input.write_end, output.read_end, output.write_end}) ::close(end);
  pin_to(processors);
  int code = 0;
  try {
    body();
  } catch (const std::exception& error) {
    std::cerr << "hocket: " << error.what() << std::endl;
    code = 1;
  }
  std::cout.flush();
  ::_exit(code);  // The parent's objects are not the child's to destroy.
}

}  // namespace

std::vector<int> usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0)
    throw Error("cannot ask for processors: {}", std::strerror(errno));
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

void pin_to(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  ::sched_setaffinity(0, sizeof(set), &set);
}

PeerProcess::PeerProcess(const std::vector<int>& processors, const std::function<void()>& body) {
  const Pipe input = make_pipe();
  const Pipe output = make_pipe();
  child_ = ::fork();
  if (child_ < 0) throw Error("cannot start a process: {}", std::strerror(errno));
  if (child_ == 0) run_child(input, output, processors, body);
  ::close(input.read_end);
  ::close(output.write_end);
  to_child_ = input.write_end;
  from_child_ = output.read_end;
}

PeerProcess::~PeerProcess() {
  ::close(to_child_);
  ::close(from_child_);
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

void PeerProcess::send(std::string_view line) {
  const std::string text = std::string(line) + '\n';
  if (::write(to_child_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw Error("a measured process has ended: {}", std::strerror(errno));
  }
}

std::optional<std::string> PeerProcess::receive(int timeout_seconds) {
  while (true) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      const std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd waiting{from_child_, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, timeout_seconds * 1000);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) throw Error("a measured process did not answer for {} s", timeout_seconds);
    char buffer[4096];
    const ssize_t got = ::read(from_child_, buffer, sizeof(buffer));
    if (got <= 0) return std::nullopt;
    unread_.append(buffer, static_cast<std::size_t>(got));
  }
}

void serve_steps(const std::function<double(int)>& run) {
  for (int steps = 0; std::cin >> steps;) std::cout << fmt::format("{}\n", run(steps)) << std::flush;
}

}  // namespace hocket
