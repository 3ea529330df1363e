#pragma once

#include <filesystem>

#include "cli/arguments.h"
#include "jobs/job_clock.h"
#include "net/authenticate.h"
#include "net/file_descriptor.h"
#include "net/framed_stream.h"
#include "net/job.h"
#include "net/liveness.h"
#include "net/socket.h"

namespace hocket {

inline constexpr HeartbeatTiming kAgentHeartbeat{Seconds(0.5), Seconds(10)};

// Where a scheduler lives: the folder of `hocket jobs serve --dir`, which all its machines see under one
// name.
struct SchedulerPlace {
  std::filesystem::path folder;  // Absolute.
  std::string server;            // --server, if it was given.
  bool plaintext = false;

  std::filesystem::path key_file() const { return folder / "key"; }
  std::filesystem::path address_file() const { return folder / "address"; }
  std::filesystem::path queue_file() const { return folder / "queue.sqlite"; }
  std::filesystem::path jobs_folder() const { return folder / "jobs"; }

  JobKey key() const;        // Throws ConfigError when there is none.
  Endpoint address() const;  // Of the coordinator as it is now. Throws ConfigError when none ever was.
};

SchedulerPlace place_of(const Arguments& arguments);  // Throws ConfigError without --dir.
SchedulerPlace place_at(const std::string& folder,
                        const Arguments& arguments);  // With --server, --plaintext.

// A connection to the coordinator. One try. Throws NetError that says what to do.
FramedStream call_scheduler(const SchedulerPlace& place, Purpose purpose, TimePoint deadline);

// Holds `file` locked until it is destroyed, and in children that are not executed. Waits for `patience`,
// then throws ConfigError: `who` is there already.
FileDescriptor lock_file(const std::filesystem::path& file, std::string_view who, Seconds patience);

}  // namespace hocket
