#include "cli/launch/signals_to_poll.h"

#include <pthread.h>
#include <sys/signalfd.h>

namespace hocket {

SignalsToPoll::SignalsToPoll(std::initializer_list<int> numbers) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : numbers) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  fd_ = FileDescriptor(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
}

SignalsToPoll::~SignalsToPoll() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::optional<int> SignalsToPoll::take() {
  signalfd_siginfo info = {};
  if (::read(fd_.get(), &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace hocket
