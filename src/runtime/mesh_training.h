#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "net/run_ranks.h"
#include "nn/model.h"
#include "runtime/program.h"

// Training a small model on a mesh of ranks as threads, for tests.
namespace hocket {

inline constexpr std::int64_t kMeshBatch = 12;
inline constexpr std::int64_t kMeshClasses = 12;
// Sanitizers, under which everything takes long, need no long runs.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int kMeshSteps = 3;
inline constexpr std::uint64_t kRandomGraphs = 10;
#else
inline constexpr int kMeshSteps = 20;
inline constexpr std::uint64_t kRandomGraphs = 80;
#endif

SampleSpec image_samples(std::int64_t channels, std::int64_t size);
SampleSpec text_samples(std::int64_t context);

// The forward graph for a number of samples.
using MeshModel = std::function<std::unique_ptr<Graph>(std::int64_t rows)>;
MeshModel named(const std::string& model, const SampleSpec& spec, DType real = DType::f64);

// A parameter, or this rank's part of it.
struct TrainedPart {
  Piece piece;
  Tensor values;
};

struct Outcome {
  double first_loss = 0, loss = 0;  // This rank's share, of the first and the last step.
  std::map<std::string, TrainedPart> parameters;
  std::vector<std::string> states;  // Of the optimizer, as checkpoints know them.
  std::vector<Conversion> conversions;
  std::uint64_t bytes_sent = 0;  // In all steps.
  std::size_t parameter_bytes = 0, gradient_bytes = 0, state_bytes = 0;
  int most_gathered = 0, most_packed = 0;  // Buckets alive at once.
};

struct MeshCut {
  std::string mesh;
  std::vector<std::string> places = {};
  bool sync_batch_norm = true;
  int micro = 1;
  bool repeats = false;  // The same batch in every step.
  int zero = 0;
  bool factors = false;
  bool overlap = false;
  bool late = false;  // Updates are left to the next forward; sums travel in another order every step.
  std::size_t bucket_bytes = std::size_t{1} << 40;
  Medium medium = Medium::inproc;
  Algorithm algorithm = Algorithm::automatic;  // Of all-reduce.
};

struct MeshRun {
  std::vector<Outcome> ranks;
  std::vector<std::string> errors;
};

ProgramOptions reference_options();  // adamw with decay on the naive kernels.

// kMeshSteps steps of one rank of a mesh, or alone.
Outcome train_one(const MeshModel& model, ProgramOptions options, int micro, bool repeats = false,
                  bool late = false);
MeshRun train_on_mesh(const MeshModel& model, const ProgramOptions& base, const MeshCut& cut);

double difference(const Tensor& a, const Tensor& b);  // The largest of any element.

}  // namespace hocket
