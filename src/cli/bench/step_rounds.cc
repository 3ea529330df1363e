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

// The script travels inside the program and reaches Python as an argument.
void exec_torch(const std::string& python, const std::string& model, int threads) {
  const std::string script(kTorchStep);
  const std::string count = std::to_string(threads);
  ::execl(python.c_str(), python.c_str(), "-c", script.c_str(), model.c_str(), count.c_str(), nullptr);
  std::cout << nlohmann::json{{"missing", python + ": " + std::strerror(errno)}} << std::endl;
}

std::optional<Peer> start_torch(const StepSetup& setup, int threads, const std::string& python,
                                const std::function<void(const std::string&)>& say) {
  Peer peer{"torch", "", nullptr, 1, {}};
  peer.process = std::make_unique<PeerProcess>(processors_for(threads),
                                               [&] { exec_torch(python, setup.name, threads); });
  const std::optional<std::string> answer = peer.process->receive(kTimeoutSeconds);
  const nlohmann::json found = nlohmann::json::parse(answer.value_or(""), nullptr, false);
  if (!found.is_object() || found.contains("missing")) {
    const std::string reason = found.is_object() ? found["missing"].dump() : "it ended without an answer";
    say(fmt::format("torch is left out: {}", reason));
    return std::nullopt;
  }
  peer.settings = *answer;
  say(fmt::format("torch chose {}", *answer));
  return peer;
}

// Warms up and finds how many steps fill a round.
void calibrate(Peer& peer, double round_seconds) {
  ask(*peer.process, 2);
  const double step_seconds = std::max(ask(*peer.process, 2) / 2, 1e-9);
  peer.steps = static_cast<int>(std::clamp(std::round(round_seconds / step_seconds), 1.0, 1e6));
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
                                  const std::function<void(const std::string&)>& say) {
  std::vector<Peer> peers;
  peers.push_back(start_hocket(setup, threads));
  if (options.peers) {
    if (std::optional<Peer> torch = start_torch(setup, threads, options.python, say))
      peers.push_back(std::move(*torch));
  }
  PeerProcess peak(processors_for(threads),
                   [&] { serve_steps([&](int) { return measure_peak_flops(threads); }); });
  for (Peer& peer : peers) calibrate(peer, options.seconds / options.rounds);

  double peak_flops = 0;
  run_rounds(peers, peak, setup, options.rounds, peak_flops);
  const double flops = training_flops(*build_model(ModelSpec::parse(setup.name), setup.sample, setup.batch));
  std::vector<StepRow> rows;
  for (const Peer& peer : peers) rows.push_back(row_of(peer, setup, threads, flops, peak_flops));
  return rows;
}

Spread paired_ratio(const StepRow& ours, const StepRow& theirs) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.samples.size(); ++i) ratios.push_back(ours.samples[i] / theirs.samples[i]);
  return spread_of(ratios);
}

}  // namespace hocket
