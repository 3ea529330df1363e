#include "cli/launch/guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"

namespace hocket {
namespace {

constexpr int kRounds = 200;
constexpr std::chrono::milliseconds kPause{10};

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), &::closedir);
  while (const dirent* entry = folder == nullptr ? nullptr : ::readdir(folder.get())) {
    const int pid = std::atoi(entry->d_name);
    if (pid > 0) pids.push_back(pid);
  }
  return pids;
}

// A process that has ended and waits for its parent has no environment any more.
bool carries(pid_t pid, const std::string& mark) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string assignment; std::getline(file, assignment, '\0');) {
    if (assignment == mark) return true;
  }
  return false;
}

bool end_round(const std::string& mark) {
  bool found = false;
  for (const pid_t pid : all_processes()) {
    if (pid == ::getpid() || !carries(pid, mark)) continue;
    found = true;
    ::kill(pid, SIGKILL);
  }
  return found;
}

void close_standard_descriptors() {
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, fd);
}

[[noreturn]] void keep_guard(int lease, const std::string& mark) {
  ::setsid();
  ::prctl(PR_SET_NAME, "hocket-guard");
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGTSTP}) ::signal(number, SIG_IGN);
  close_standard_descriptors();
  char byte = 0;
  while (::read(lease, &byte, 1) < 0 && errno == EINTR) {
  }
  end_marked_processes(mark);
  ::_exit(0);
}

}  // namespace

void end_marked_processes(const std::string& mark) {
  for (int round = 0; round < kRounds && end_round(mark); ++round) std::this_thread::sleep_for(kPause);
}

Guard::Guard(const std::string& mark) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error("cannot make a pipe: {}", std::strerror(errno));
  FileDescriptor watched(ends[0]);
  lease_ = FileDescriptor(ends[1]);
  pid_ = ::fork();
  if (pid_ < 0) throw Error("cannot start the guard: {}", std::strerror(errno));
  if (pid_ > 0) return;
  lease_.reset();
  keep_guard(watched.get(), mark);
}

Guard::~Guard() {
  lease_.reset();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace hocket
