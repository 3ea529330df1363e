#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "jobs/cluster_job.h"

namespace hocket {

// One start of a job. What is said about an old attempt changes nothing.
struct JobAttempt {
  JobId job = 0;
  int attempt = 0;

  auto operator<=>(const JobAttempt&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 errs.
};

// How an attempt ended, as its agent saw it.
struct AttemptEnded {
  JobAttempt which;
  int exit_code = -1;     // -1: none, because of `signal` or `error`.
  int signal = 0;         // That killed it.
  std::string error;      // Why it could not be started.
  std::string last_line;  // Of what it said on standard error.
};

// From an agent, first of all: who it is, and all that it knows.
struct AgentArrives {
  std::string name;
  int slots = 1;
  std::int64_t memory_bytes = 0;
  int rack = 0;
  std::vector<JobAttempt> running;
  std::vector<AttemptEnded> ended;  // And not forgotten yet.
};

// What one machine has of an attempt.
struct AttemptPart {
  std::string machine;
  int workers = 1;
};
struct StartAttempt {
  JobAttempt which;
  int workers = 1;
  std::vector<std::string> words;
  std::string folder;                // To start in.
  std::string home;                  // The job's own: its run and its log.
  std::vector<AttemptPart> parts{};  // More than one: of a gang on several machines, the first leads.
  int part = 0;                      // That of this machine.
};
struct StopAttempt {  // Write a checkpoint and end.
  JobAttempt which;
};
struct ForgetAttempt {  // To an agent: its end is known and kept.
  JobAttempt which;
};
struct AgentBeat {};  // Both ways.
struct AttemptRate {  // From an agent: how fast it was between its last two rows of metrics.
  JobAttempt which;
  double samples_per_second = 0;
};

using JobMessage = std::variant<AgentArrives, StartAttempt, StopAttempt, AttemptEnded, ForgetAttempt,
                                AgentBeat, AttemptRate>;

// The body of a frame on the wire. decode_job_message() throws NetError for bytes that no encode() has made.
std::vector<std::byte> encode(const JobMessage& message);
JobMessage decode_job_message(std::span<const std::byte> bytes);

}  // namespace hocket
