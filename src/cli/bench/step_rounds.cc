#include "cli/bench/step_rounds.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "cli/machine.h"

namespace hocket {
namespace {

// The f32 rate of the processors of so many workers, the best of all rounds.
struct Peak {
  StepPeer process;
  double flops = 0;

  void measure() { flops = std::max(flops, process.run(1)); }
};

Peak start_peak(int workers, int threads) {
  Peak peak;
  peak.process.name = "peak";
  const int all = workers * threads;
  peak.process.workers.push_back(std::make_unique<PeerProcess>(processors_of(0, 1, all), [&] {
    serve_steps([&](int) { return std::max(measure_peak_flops(all), measure_product_flops(all)); });
  }));
  return peak;
}

std::vector<StepPeer> start_peers(const StepSetup& setup, int threads, const StepBenchOptions& options,
                                  const Remark& say) {
  std::vector<StepPeer> peers;
  peers.push_back(start_apart("hocket", setup, 1, threads));
  if (options.workers > 1) {
    peers.push_back(start_apart("unrelated", setup, options.workers, threads));
    peers.push_back(start_hocket_workers(setup, options.workers, threads, options.transport));
  }
  if (!options.peers) return peers;
  for (StepPeer& torch : start_torch_peers(setup, options.workers, threads, options.python, say)) {
    peers.push_back(std::move(torch));
  }
  return peers;
}

void run_round(std::vector<StepPeer>& peers, const StepSetup& setup, bool backwards) {
  for (std::size_t i = 0; i < peers.size(); ++i) {
    StepPeer& peer = peers[backwards ? peers.size() - 1 - i : i];
    const double seconds = peer.run(peer.steps);
    const auto items = static_cast<double>(setup.items()) * static_cast<double>(peer.workers.size());
    peer.items_per_second.push_back(items * peer.steps / seconds);
  }
}

StepRow row_of(const StepPeer& peer, const StepSetup& setup, int threads, double flops, double peak_flops) {
  StepRow row;
  row.model = setup.name;
  row.workers = static_cast<int>(peer.workers.size());
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
  processors_of(0, options.workers, threads);  // Throws before anything is started.
  std::vector<StepPeer> peers = start_peers(setup, threads, options, say);
  std::map<int, Peak> peaks;  // By the number of workers.
  for (const int workers : {1, options.workers}) {
    if (!peaks.contains(workers)) peaks.emplace(workers, start_peak(workers, threads));
  }
  for (StepPeer& peer : peers) peer.calibrate(options.seconds / options.rounds);

  for (int round = 0; round < options.rounds; ++round) {
    for (auto& [workers, peak] : peaks) peak.measure();
    run_round(peers, setup, round % 2 == 1);  // Nobody is always first.
  }
  const double flops = training_flops(*build_model(parse_model(setup.name), setup.sample, setup.batch));
  std::vector<StepRow> rows;
  rows.reserve(peers.size());
  for (StepPeer& peer : peers) {
    rows.push_back(
        row_of(peer, setup, threads, flops, peaks.at(static_cast<int>(peer.workers.size())).flops));
    peer.end();
  }
  return rows;
}

}  // namespace hocket
