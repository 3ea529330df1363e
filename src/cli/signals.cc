#include "cli/signals.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "cli/exit_code.h"

namespace hocket {
namespace {

// A handler can reach nothing but globals.
std::atomic<bool> stop_requested{false};
std::atomic<int> first_signal{0};
std::atomic<bool> has_live_line{false};

void on_signal(int signal) {
  if (stop_requested.exchange(true)) ::_exit(128 + signal);
  first_signal = signal;
  std::string_view note = "\nhocket: stopping after this step; once more to stop at once\n";
  if (!has_live_line) note.remove_prefix(1);
  static_cast<void>(!::write(STDERR_FILENO, note.data(), note.size()));
}

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void ignore_broken_pipes() { set_handler(SIGPIPE, SIG_IGN); }

StopSignals::StopSignals() {
  stop_requested = false;
  first_signal = 0;
  has_live_line = ::isatty(STDERR_FILENO) == 1;
  set_handler(SIGINT, on_signal);
  set_handler(SIGTERM, on_signal);
}

StopSignals::~StopSignals() {
  set_handler(SIGINT, SIG_DFL);
  set_handler(SIGTERM, SIG_DFL);
}

const std::atomic<bool>& StopSignals::stop() const { return stop_requested; }
int StopSignals::exit_code() const { return first_signal == SIGTERM ? kTerminated : kInterrupted; }

}  // namespace hocket
