#include "cli/launch/rank_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace hocket {
namespace {

struct Pipe {
  FileDescriptor reader;
  FileDescriptor writer;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error("cannot make a pipe: {}", std::strerror(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

// All that the child needs, prepared before the fork: after it, only calls that are safe in a signal handler.
struct Child {
  std::vector<char*> words;
  std::vector<char*> environment;
  const char* folder;
  int in, out, err, kept;
  int mistake;  // Where errno goes when the program does not start.
  pid_t parent;
};

[[noreturn]] void become(const Child& child) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.parent) ::_exit(1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP}) ::signal(number, SIG_DFL);
  if (child.in >= 0) ::dup2(child.in, STDIN_FILENO);
  if (child.out >= 0) ::dup2(child.out, STDOUT_FILENO);
  ::dup2(child.err, STDERR_FILENO);
  if (child.kept >= 0) ::fcntl(child.kept, F_SETFD, 0);
  [[maybe_unused]] const int moved = ::chdir(child.folder);
  ::execvpe(child.words[0], child.words.data(), child.environment.data());
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(child.mistake, &error, sizeof(error));
  ::_exit(127);
}

// A text short enough for the pipe to hold, and then the end.
FileDescriptor reader_of(const std::string& text) {
  Pipe pipe = make_pipe();
  const auto written = ::write(pipe.writer.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()))
    throw Error("cannot write to a pipe: {}", std::strerror(errno));
  return std::move(pipe.reader);
}

void check_started(pid_t pid, Pipe mistake, const std::string& program) {
  mistake.writer.reset();
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(mistake.reader.get(), &error, sizeof(error))) < 0 && errno == EINTR) {
  }
  if (got != static_cast<ssize_t>(sizeof(error))) return;
  ::waitpid(pid, nullptr, 0);
  throw ConfigError("launch: cannot start {}: {}", program, std::strerror(error));
}

}  // namespace

RankProcess start_process(const ProcessOptions& options) {
  const FileDescriptor input = reader_of(options.input);
  Pipe out = options.pipes_output ? make_pipe() : Pipe{};
  Pipe err = make_pipe();
  Pipe mistake = make_pipe();
  const Child child{pointers(options.words),
                    pointers(options.environment),
                    options.folder.c_str(),
                    options.inherits_input ? -1 : input.get(),
                    options.output_fd >= 0 ? options.output_fd : out.writer.get(),
                    options.output_fd >= 0 ? options.output_fd : err.writer.get(),
                    options.inherited_fd,
                    mistake.writer.get(),
                    ::getpid()};
  RankProcess process;
  process.pid = ::fork();
  if (process.pid < 0) throw Error("launch: cannot start a process: {}", std::strerror(errno));
  if (process.pid == 0) become(child);
  ::setpgid(process.pid, process.pid);  // Whoever of the two is first.
  process.exit = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  check_started(process.pid, std::move(mistake), options.words.front());
  if (!process.exit.is_open()) throw Error("launch: cannot watch a process: {}", std::strerror(errno));
  ::fcntl(process.exit.get(), F_SETFD, FD_CLOEXEC);
  if (out.reader.is_open()) set_nonblocking(out.reader.get());
  set_nonblocking(err.reader.get());
  process.out = std::move(out.reader);
  process.err = std::move(err.reader);
  return process;
}

std::string exit_text(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  return fmt::format("was killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

}  // namespace hocket
