#include "cli/bench/step_rounds.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/bench/peer_process.h"
#include "cli/bench/torch_step.h"
#include "cli/machine.h"
#include "tensor/kernels/isa.h"
#include "tensor/kernels/threads.h"

namespace hocket {
namespace {

constexpr int kTimeoutSeconds = 300;

struct Peer {
  std::string name;
  std::string settings;
  std::unique_ptr<PeerProcess> process;
  int steps = 1;  // In a round.
  std::vector<double> items_per_second;
};

double ask(PeerProcess& process, int steps) {
  process.send(fmt::format("{}", steps));
  const std::optional<std::string> answer = process.receive(kTimeoutSeconds);
  if (!answer) throw Error("a measured process has ended");
  return std::stod(*answer);
}

// The last processors: the first one has the machine's interrupts to serve.
std::vector<int> processors_for(int threads) {
  const std::vector<int> all = usable_processors();
  if (threads > static_cast<int>(all.size())) {
    throw ConfigError("bench step: {} threads, but this process may use {} processors", threads, all.size());
  }
  return {all.end() - threads, all.end()};
}

Peer start_hocket(const StepSetup& setup, int threads) {
  Peer peer{"hocket", "", nullptr, 1, {}};
  peer.process = std::make_unique<PeerProcess>(processors_for(threads), [&] {
    kernel::set_num_threads(threads);
    StepLoop loop(setup);
    serve_steps([&](int steps) { return loop.run(steps); });
  });
  return peer;
}

// The script travels inside the program and reaches Python as an argument. Without a capability torch runs as
// it comes, else it looks for its best settings.
void exec_torch(const std::string& python, const StepSetup& setup, int threads, const char* capability) {
  const std::string script(kTorchStep);
  const std::string count = std::to_string(threads);
  ::execl(python.c_str(), python.c_str(), "-c", script.c_str(), setup.name.c_str(), count.c_str(), capability,
          nullptr);
  std::cout << nlohmann::json{{"missing", python + ": " + std::strerror(errno)}} << std::endl;
}

// Torch as it comes, or at its best with one vector set for its own kernels; nothing, and a remark, when it
// does not start.
std::optional<Peer> start_torch(const StepSetup& setup, int threads, const std::string& python,
                                const char* capability, const Remark& say) {
  Peer peer{capability == nullptr ? "torch" : "torch-best", "", nullptr, 1, {}};
  peer.process = std::make_unique<PeerProcess>(processors_for(threads),
                                               [&] { exec_torch(python, setup, threads, capability); });
  const std::optional<std::string> answer = peer.process->receive(kTimeoutSeconds);
  const nlohmann::json found = nlohmann::json::parse(answer.value_or(""), nullptr, false);
  if (!found.is_object() || found.contains("missing")) {
    say(peer.name +
        " is left out: " + (found.is_object() ? found["missing"].get<std::string>() : "it does not start"));
    return std::nullopt;
  }
  peer.settings = *answer;
  return peer;
}

// Warms up and finds how many steps fill a round.
void calibrate(Peer& peer, double round_seconds) {
  ask(*peer.process, 2);
  const double step_seconds = std::max(ask(*peer.process, 2) / 2, 1e-9);
  peer.steps = static_cast<int>(std::clamp(std::round(round_seconds / step_seconds), 1.0, 1e6));
}

// Torch with the vector set that is faster here, judged by alternating rounds.
std::optional<Peer> start_best_torch(const StepSetup& setup, int threads, const std::string& python,
                                     const Remark& say) {
  constexpr int kRounds = 5;
  constexpr double kRoundSeconds = 0.3;
  std::optional<Peer> narrow = start_torch(setup, threads, python, "avx2", say);
  if (!narrow || kernel::cpu_report().vectors != "avx512") return narrow;
  std::optional<Peer> wide = start_torch(setup, threads, python, "avx512", say);
  if (!wide) return narrow;
  calibrate(*narrow, kRoundSeconds);
  wide->steps = narrow->steps;
  ask(*wide->process, 2);
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    const double seconds = ask(*narrow->process, narrow->steps);
    ratios.push_back(seconds / ask(*wide->process, wide->steps));
  }
  return spread_of(ratios).median > 1 ? std::move(wide) : std::move(narrow);
}

std::vector<std::optional<Peer>> start_peers(const StepSetup& setup, int threads, const std::string& python,
                                             const Remark& say) {
  std::vector<std::optional<Peer>> peers;
  peers.push_back(start_torch(setup, threads, python, nullptr, say));
  if (peers.front()) peers.push_back(start_best_torch(setup, threads, python, say));
  return peers;
}

void run_rounds(std::vector<Peer>& peers, PeerProcess& peak, const StepSetup& setup, int rounds,
                double& peak_flops) {
  for (int round = 0; round < rounds; ++round) {
    peak_flops = std::max(peak_flops, ask(peak, 1));
    for (std::size_t i = 0; i < peers.size(); ++i) {
      Peer& peer = peers[round % 2 == 0 ? i : peers.size() - 1 - i];  // Neither is always first.
      const double seconds = ask(*peer.process, peer.steps);
      peer.items_per_second.push_back(static_cast<double>(setup.items()) * peer.steps / seconds);
    }
  }
}

StepRow row_of(const Peer& peer, const StepSetup& setup, int threads, double flops, double peak_flops) {
  StepRow row;
  row.model = setup.name;
  row.threads = threads;
  row.peer = peer.name;
  row.unit = setup.unit();
  row.samples = peer.items_per_second;
  row.items_per_second = spread_of(row.samples);
  row.share_of_peak = row.items_per_second.median / static_cast<double>(setup.items()) * flops / peak_flops;
  row.settings = peer.settings;
  return row;
}

}  // namespace

std::vector<StepRow> measure_step(const StepSetup& setup, int threads, const StepBenchOptions& options,
                                  const Remark& say) {
  std::vector<Peer> peers;
  peers.push_back(start_hocket(setup, threads));
  if (options.peers) {
    for (std::optional<Peer>& torch : start_peers(setup, threads, options.python, say)) {
      if (!torch) continue;
      say(fmt::format("{} runs with {}", torch->name, torch->settings));
      peers.push_back(std::move(*torch));
    }
  }
  PeerProcess peak(processors_for(threads), [&] {
    serve_steps([&](int) { return std::max(measure_peak_flops(threads), measure_product_flops(threads)); });
  });
  for (Peer& peer : peers) calibrate(peer, options.seconds / options.rounds);

  double peak_flops = 0;
  run_rounds(peers, peak, setup, options.rounds, peak_flops);
  const double flops = training_flops(*build_model(parse_model(setup.name), setup.sample, setup.batch));
  std::vector<StepRow> rows;
  rows.reserve(peers.size());
  for (const Peer& peer : peers) rows.push_back(row_of(peer, setup, threads, flops, peak_flops));
  return rows;
}

Spread paired_ratio(const StepRow& ours, const StepRow& theirs) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.samples.size(); ++i) ratios.push_back(ours.samples[i] / theirs.samples[i]);
  return spread_of(ratios);
}

}  // namespace hocket
