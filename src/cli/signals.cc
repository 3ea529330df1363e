#include "cli/signals.h"

#include <pthread.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "net/clock.h"

namespace hocket {
namespace {

constexpr std::chrono::seconds kSameSignal{1};

}  // namespace

void ignore_broken_pipes() { ::signal(SIGPIPE, SIG_IGN); }

StopSignals::StopSignals(bool is_quiet) : is_quiet_(is_quiet) {
  ::sigemptyset(&signals_);
  ::sigaddset(&signals_, SIGINT);
  ::sigaddset(&signals_, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
  thread_ = std::jthread([this] { wait_for_signals(); });
  ::pthread_setname_np(thread_.native_handle(), "hocket-signals");
}

StopSignals::~StopSignals() {
  has_ended_ = true;
  ::pthread_kill(thread_.native_handle(), SIGTERM);  // Wakes the thread, and nobody else.
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void StopSignals::wait_for_signals() {
  TimePoint first{};
  while (true) {
    int signal = 0;
    ::sigwait(&signals_, &signal);
    if (has_ended_) return;
    // Who ends a job as a whole, as Slurm does, tells every process, and a launcher then tells its ranks.
    if (stop_ && signal == SIGTERM && first_signal_ == SIGTERM && Clock::now() < first + kSameSignal)
      continue;
    if (stop_) ::_exit(128 + signal);
    first = Clock::now();
    first_signal_ = signal;
    stop_ = true;
    if (is_quiet_) continue;
    const bool is_live =
        ::isatty(STDERR_FILENO) == 1;  // Then the cursor stands at the end of the progress line.
    write_raw(is_live ? "\nhocket: stopping after this step; once more to stop at once\n"
                      : "hocket: stopping after this step; once more to stop at once\n");
  }
}

int StopSignals::exit_code() const { return first_signal_ == SIGTERM ? kTerminated : kInterrupted; }

}  // namespace hocket
