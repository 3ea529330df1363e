#pragma once

namespace hocket {

// What the program returns to the shell; scripts depend on it.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,         // Wrong usage or configuration.
  kBadData = 3,       // A file is missing, torn or not what it claims to be.
  kPeerFailed = 4,    // A peer or the network.
  kTargetMissed = 5,  // The run ended without reaching its target.
  kInterrupted = 130,
  kTerminated = 143,
};

}  // namespace hocket
