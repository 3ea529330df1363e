#include "cli/launch/local_ranks.h"

#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>

#include "net/file_descriptor.h"
#include "net/job_key.h"

namespace hocket {
namespace {

constexpr int kReadsAtOnce = 32;  // More than a pipe can hold, so that a rank's last words are read whole.

}  // namespace

LocalRanks::LocalRanks(const RankCommand& command, const JobKey& key, const std::vector<Rank>& ranks,
                       bool first_reads_input) {
  const FileDescriptor key_file(descriptor_with_key(key));
  const int size = static_cast<int>(ranks.size());
  for (int i = 0; i < size; ++i) {
    const Rank rank = ranks[static_cast<std::size_t>(i)];
    ProcessOptions options;
    options.words = command.words;
    options.environment = environment_of(command, key, rank, i, size, key_file.get());
    options.folder = command.folder;
    options.inherited_fd = key_file.get();
    options.pipes_output = command.pipes_output;
    options.inherits_input = first_reads_input && i == 0;
    running_.emplace(rank, Running{start_process(options)});
  }
}

LocalRanks::~LocalRanks() {
  signal(SIGKILL);
  for (auto& [rank, running] : running_) ::waitpid(running.process.pid, nullptr, 0);
}

void LocalRanks::add_to(std::vector<pollfd>& polls) const {
  for (const auto& [rank, running] : running_) {
    for (const FileDescriptor* each : {&running.process.exit, &running.process.out, &running.process.err}) {
      if (each->is_open()) polls.push_back({each->get(), POLLIN, 0});
    }
  }
}

void LocalRanks::progress(RankEvents& events) {
  for (auto each = running_.begin(); each != running_.end();) {
    const auto current = each++;
    const Rank rank = current->first;
    Running& running = current->second;
    if (!running.is_announced) events.on_start(rank, running.process.pid, this_host_name());
    running.is_announced = true;
    pollfd ended = {running.process.exit.get(), POLLIN, 0};
    const bool has_ended = ::poll(&ended, 1, 0) > 0;  // Before its last output is read, not after.
    read_output(rank, running.process.out, OutputKind::out, events);
    read_output(rank, running.process.err, OutputKind::err, events);
    if (has_ended && try_reap(rank, running, events)) running_.erase(current);
  }
}

void LocalRanks::read_output(Rank rank, FileDescriptor& from, OutputKind kind, RankEvents& events) {
  std::array<char, 64 << 10> buffer;
  for (int i = 0; i < kReadsAtOnce && from.is_open(); ++i) {
    const auto got = ::read(from.get(), buffer.data(), buffer.size());
    if (got > 0) {
      events.on_output(rank, kind, {buffer.data(), static_cast<std::size_t>(got)});
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      if (got == 0) from.reset();
      return;
    }
  }
}

bool LocalRanks::try_reap(Rank rank, Running& running, RankEvents& events) {
  ::kill(-running.process.pid, SIGKILL);  // What it started and left behind.
  int status = 0;
  if (::waitpid(running.process.pid, &status, WNOHANG) != running.process.pid) return false;
  events.on_exit(rank, status);
  return true;
}

void LocalRanks::signal(int number) {
  for (const auto& [rank, running] : running_) ::kill(-running.process.pid, number);
}

}  // namespace hocket
