#include "cli/bench/collective_peers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "cli/bench/peer_process.h"

namespace hocket {
namespace {

constexpr int kTimeoutSeconds = 60;
constexpr const char* kMpirun = "/usr/bin/mpirun";

using Words = std::vector<std::string>;

void add_gloo(std::vector<CollectivePeer>& peers, const std::string& program, int ranks) {
  for (const char* algorithm : {"ring", "bcube", "halving_doubling", "ring_chunked", "old_bcube"}) {
    peers.push_back({"gloo", "tcp", "", {program, std::to_string(ranks), algorithm}});
  }
}

Words mpirun(const std::string& program, int ranks, const Words& options) {
  Words words = {kMpirun,
                 "-n",
                 std::to_string(ranks),
                 "--oversubscribe",
                 "--mca",
                 "pml",
                 "ob1",
                 "--mca",
                 "btl_base_warn_component_unused",
                 "0"};
  if (::geteuid() == 0) words.push_back("--allow-run-as-root");
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(program);
  return words;
}

// Without yielding, ranks that outnumber the cores take a scheduler's turn for every message: not worth a
// try.
void add_openmpi(std::vector<CollectivePeer>& peers, const std::string& program, int ranks, int cores) {
  const bool fits = ranks <= cores;
  for (const char* bind : {"core", "none"}) {
    if (bind == std::string("core") && !fits) continue;
    for (const char* yield : {"1", "0"}) {
      if (yield == std::string("0") && !fits) continue;
      const Words options = {"--bind-to",           bind, "--mca", "btl", "self,vader", "--mca",
                             "mpi_yield_when_idle", yield};
      const std::string setting =
          fmt::format("vader,yield={},{}", yield, fits ? fmt::format("bind={},", bind) : "");
      peers.push_back({"openmpi", "shm", setting, mpirun(program, ranks, options)});
    }
    const Words over_tcp = {"--bind-to",          bind, "--mca", "btl", "self,tcp", "--mca",
                            "btl_tcp_if_include", "lo"};
    const std::string setting = fmt::format("tcp,{}", fits ? fmt::format("bind={},", bind) : "");
    peers.push_back({"openmpi-tcp", "tcp", setting, mpirun(program, ranks, over_tcp)});
  }
}

void exec(const Words& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  throw Error("cannot run {}: {}", words.front(), std::strerror(errno));
}

}  // namespace

std::vector<CollectivePeer> collective_peers(const std::filesystem::path& folder, int ranks, int cores,
                                             std::vector<std::string>& missing) {
  std::vector<CollectivePeer> peers;
  const auto find = [&](const char* peer, const std::filesystem::path& program, const char* package) {
    if (std::filesystem::exists(program)) return true;
    missing.push_back(
        fmt::format("{} is left out: {} is not there; it needs {}", peer, program.string(), package));
    return false;
  };
  const auto gloo = folder / "bench_gloo_all_reduce";
  const auto mpi = folder / "bench_mpi_all_reduce";
  if (find("gloo", gloo, "libgloo-dev and HOCKET_BENCH")) add_gloo(peers, gloo, ranks);
  if (find("openmpi", mpi, "libopenmpi-dev and HOCKET_BENCH") && find("openmpi", kMpirun, "openmpi-bin")) {
    add_openmpi(peers, mpi, ranks, cores);
  }
  return peers;
}

std::vector<CollectiveFigures> run_collective_peer(const CollectivePeer& peer,
                                                   const std::vector<std::size_t>& bytes, double seconds) {
  Words words = peer.arguments;
  words.push_back(fmt::format("{}", fmt::join(bytes, ",")));
  words.push_back(fmt::format("{}", seconds));
  PeerProcess process(usable_processors(), [&] { exec(words); });
  std::vector<CollectiveFigures> all;
  while (const std::optional<std::string> line = process.receive(kTimeoutSeconds)) {
    std::optional<CollectiveFigures> figures = parse_figures(*line);
    if (!figures) throw Error("{} says: {}", peer.name, *line);
    figures->algorithm = peer.setting + figures->algorithm;
    all.push_back(std::move(*figures));
  }
  if (all.empty()) throw Error("{} ({}) measured nothing", peer.name, fmt::join(words, " "));
  return all;
}

}  // namespace hocket
