#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/bench/step_peer.h"

namespace hocket {

using Remark = std::function<void(const std::string&)>;

// PyTorch with the same model and step: in one process as it comes and at its best, and with several workers
// as DistributedDataParallel over Gloo with the settings that are best in one process and those of its own
// that are best here. What does not start is left out; `say` hears why.
std::vector<StepPeer> start_torch_peers(const StepSetup& setup, int workers, int threads,
                                        const std::string& python, const Remark& say);

// The arguments of bench/torch_step.py that let a worker join others, from what the best process alone said
// that it runs with: "avx512", "channels_last,foreach".
std::vector<std::string> settings_for_workers(const std::string& answer);

}  // namespace hocket
