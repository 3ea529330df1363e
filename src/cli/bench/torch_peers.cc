#include "cli/bench/torch_peers.h"

#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "cli/bench/statistics.h"
#include "cli/bench/torch_step.h"
#include "net/file_descriptor.h"
#include "tensor/kernels/isa.h"

namespace hocket {
namespace {

constexpr int kTimeoutSeconds = 300;

// Starts PyTorch for one model and number of threads.
class TorchStarter {
 public:
  TorchStarter(const StepSetup& setup, int threads, std::string python, const Remark& say)
      : setup_(setup), threads_(threads), python_(std::move(python)), say_(say) {}

  // Without a capability torch runs as it comes, else it looks for its best settings.
  std::optional<StepPeer> start_alone(const std::string& capability) const;
  // At its best with the vector set for its own kernels that is faster here, judged by alternating rounds.
  std::optional<StepPeer> start_best() const;
  std::optional<StepPeer> start_workers(int workers, const StepPeer& best) const;

 private:
  void exec(const std::vector<std::string>& arguments) const;
  std::optional<StepPeer> ready(StepPeer peer) const;

  const StepSetup& setup_;
  int threads_;
  std::string python_;
  const Remark& say_;
};

// The script travels inside the program and reaches Python as an argument.
void TorchStarter::exec(const std::vector<std::string>& arguments) const {
  std::vector<std::string> words{python_, "-c", std::string(kTorchStep), setup_.name,
                                 std::to_string(threads_)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(python_.c_str(), pointers.data());
  std::cout << nlohmann::json{{"missing", python_ + ": " + std::strerror(errno)}} << std::endl;
}

// Nothing, and a remark, when a worker does not start.
std::optional<StepPeer> TorchStarter::ready(StepPeer peer) const {
  for (const auto& worker : peer.workers) {
    const std::optional<std::string> answer = worker->receive(kTimeoutSeconds);
    const nlohmann::json found = nlohmann::json::parse(answer.value_or(""), nullptr, false);
    if (!found.is_object() || found.contains("missing")) {
      say_(peer.name + " is left out: " +
           (found.is_object() ? found["missing"].get<std::string>() : "it does not start"));
      return std::nullopt;
    }
    peer.settings = *answer;
  }
  return peer;
}

std::optional<StepPeer> TorchStarter::start_alone(const std::string& capability) const {
  StepPeer peer;
  peer.name = capability.empty() ? "torch" : "torch-best";
  std::vector<std::string> arguments;
  if (!capability.empty()) arguments.push_back(capability);
  peer.workers.push_back(
      std::make_unique<PeerProcess>(processors_of(0, 1, threads_), [&] { exec(arguments); }));
  return ready(std::move(peer));
}

std::optional<StepPeer> TorchStarter::start_best() const {
  constexpr int kRounds = 5;
  constexpr double kRoundSeconds = 0.3;
  std::optional<StepPeer> narrow = start_alone("avx2");
  if (!narrow || kernel::cpu_report().vectors != "avx512") return narrow;
  std::optional<StepPeer> wide = start_alone("avx512");
  if (!wide) return narrow;
  narrow->calibrate(kRoundSeconds);
  wide->run(2);
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    const double seconds = narrow->run(narrow->steps);
    ratios.push_back(seconds / wide->run(narrow->steps));
  }
  return spread_of(ratios).median > 1 ? std::move(wide) : std::move(narrow);
}

// They meet at a file that has no name and so is gone with the last of them.
std::optional<StepPeer> TorchStarter::start_workers(int workers, const StepPeer& best) const {
  const FileDescriptor store(::memfd_create("torch", 0));
  if (store.get() < 0) throw Error("cannot make a file in memory: {}", std::strerror(errno));
  StepPeer peer;
  peer.name = "torch-ddp";
  for (int worker = 0; worker < workers; ++worker) {
    std::vector<std::string> arguments = settings_for_workers(best.settings);
    arguments.insert(arguments.end(), {std::to_string(worker), std::to_string(workers),
                                       fmt::format("/proc/self/fd/{}", store.get())});
    peer.workers.push_back(
        std::make_unique<PeerProcess>(processors_of(worker, workers, threads_), [&] { exec(arguments); }));
  }
  return ready(std::move(peer));
}

}  // namespace

std::vector<std::string> settings_for_workers(const std::string& answer) {
  const nlohmann::json found = nlohmann::json::parse(answer);
  const auto settings = found.at("settings").get<std::vector<std::string>>();
  return {found.at("ATEN_CPU_CAPABILITY").get<std::string>(), fmt::format("{}", fmt::join(settings, ","))};
}

std::vector<StepPeer> start_torch_peers(const StepSetup& setup, int workers, int threads,
                                        const std::string& python, const Remark& say) {
  const TorchStarter starter(setup, threads, python, say);
  std::vector<StepPeer> peers;
  const auto add = [&](std::optional<StepPeer> peer) {
    if (!peer) return false;
    say(fmt::format("{} runs with {}", peer->name, peer->settings));
    peers.push_back(std::move(*peer));
    return true;
  };
  if (add(starter.start_alone("")) && add(starter.start_best()) && workers > 1) {
    add(starter.start_workers(workers, peers.back()));
  }
  return peers;
}

}  // namespace hocket
