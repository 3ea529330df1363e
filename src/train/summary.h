#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

// Where a rank's time went.
struct RankSeconds {
  double wall_seconds = 0;
  double train_seconds = 0;
  double cpu_seconds = 0;
  double compute_seconds = 0;
  double comm_seconds = 0;
  double exposed_comm_seconds = 0;  // Of these, while nothing was computed.
  double wait_seconds = 0;
};

// What became of the gradients of a worker of a parameter server. Staleness counts the updates between the
// pull of the parameters and the push of their gradient.
struct GradientCounts {
  std::int64_t applied = 0;
  std::int64_t dropped = 0;
  double mean_staleness = 0;
  std::vector<std::int64_t> staleness{};  // How many had staleness 0, 1, …
};

// What the coordinator of Sandblaster did.
struct PortionCounts {
  std::int64_t evaluations = 0;        // Of the loss of all samples.
  std::int64_t tasks = 0;              // Portions that were handed out:
  std::int64_t backups = 0;            // of these, while another worker had the same.
  std::int64_t coordinator_bytes = 0;  // To and from it, as are:
  std::int64_t coordinator_messages = 0;
};

// What workers with a replica each sent one another in order to agree: not what records, tests and
// checkpoints cost.
struct PeerCounts {
  struct Period {
    std::int64_t step = 0;  // From this step on,
    std::int64_t tau = 0;   // so many make a round.
  };
  struct Graph {
    std::string name;
    bool is_directed = false;
    int largest_degree = 0;
    double second_eigenvalue = 0;  // The second-largest absolute one; the spectral gap is 1 less it.
  };
  std::int64_t rounds = 0;            // Of this worker; of all together where each has its own pace.
  std::int64_t refusals = 0;          // Rounds that came to nothing, as a neighbour was busy.
  std::vector<std::int64_t> steps{};  // By worker, where each has its own pace.
  std::uint64_t bytes_sent = 0;
  std::uint64_t busiest_bytes_sent = 0;  // By the worker that sent the most.
  std::vector<Period> periods{};
  std::optional<Graph> graph{};
  std::optional<double> consensus_distance{};  // At the last test; see EvalRecord.
  std::uint64_t driver_bytes = 0;              // To and from a process beside the workers, in these rounds.
  std::uint64_t data_bytes_read = 0;           // By all workers, of files.
};

// How often the threads of a Hogwild run got in each other's way, as far as they looked.
struct ConflictCounts {
  std::int64_t observed_updates = 0;
  std::int64_t writes = 0;     // Of single parameters in these updates:
  std::int64_t conflicts = 0;  // of these, where another thread had written since the update read it.

  double rate() const {
    return writes == 0 ? 0 : static_cast<double>(conflicts) / static_cast<double>(writes);
  }
};

// The outcome of a run: each member is the key of the same name in summary.json. `seconds` is the run's own,
// and also stands there per rank under "ranks". An empty optional is null: not measured, or never reached. A
// value type.
struct Summary {
  std::string status = "done";  // Or "interrupted", "failed".
  std::string model;
  std::string data;
  int workers = 1;
  int servers = 0;
  std::string mesh = "dp=1";
  std::string sync = "none";
  std::string schedule = "none";  // Of a pipeline.
  int micro_batches = 1;
  int zero = 0;
  std::string compress = "none";
  int restarts = 0;  // How often its workers had to start anew.
  std::string algorithm = "none";
  std::string transport = "none";
  std::string dtype = "f32";
  int threads = 1;
  std::uint64_t seed = 0;
  bool emulated = false;
  std::int64_t parameters = 0;
  double epochs = 0;
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  RankSeconds seconds;
  double samples_per_second = 0;
  std::optional<double> test_accuracy;
  std::optional<double> test_auc;  // Of two classes.
  std::optional<double> test_loss;
  std::optional<double> best_test_accuracy;
  std::optional<double> target_accuracy;
  std::optional<double> time_to_target;  // Seconds of training.
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_sent = 0;
  double exposed_comm_fraction = 0;  // Of the communication, what no computing hid.
  double staleness = 0;
  std::optional<double> bubble_fraction;  // Of the time of a pipeline's ranks, what they did not compute in.
  std::vector<std::int64_t> activation_bytes{};  // By rank, of all micro-batches in flight.
  std::uint64_t peak_rss_bytes = 0;
  std::string parameter_hash;
  std::string version;
  std::vector<RankSeconds> ranks;
  std::optional<PeerCounts> peers{};
  std::vector<GradientCounts> gradients{};    // By worker of a parameter server.
  std::optional<PortionCounts> portions{};    // Under the key "sandblaster", where it was that.
  std::vector<std::int64_t> shares{};         // "share" of each rank in a batch, where they were balanced.
  std::optional<ConflictCounts> conflicts{};  // Under the key "hogwild", where it was that.
};

// As JSON, indented, with a line's end.
std::string to_json(const Summary& summary);

// Writes summary.json so that it is never seen half written. Throws Error.
void write_summary(const std::filesystem::path& path, const Summary& summary);

}  // namespace hocket
