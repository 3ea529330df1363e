#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/transport.h"
#include "net/world.h"

namespace hocket {

// Starts ranks on this machine, lets each run `body`, and ends them: processes, or threads of one process for
// the transport inproc. Returns the first `lines` lines that they print to standard output. The calling
// process must have a single thread. With `emulation`, which it shares with them, every message is delayed.
// Throws Error when the ranks fail.
std::vector<std::string> run_bench_ranks(TransportKind transport, int ranks, std::size_t lines,
                                         const std::function<void(std::unique_ptr<Transport>)>& body,
                                         LinkLedger* emulation = nullptr);

}  // namespace hocket
