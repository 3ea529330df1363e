// A step that is cut along a mesh trains as the whole one does.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/rng.h"
#include "graph/passes/passes.h"
#include "net/run_ranks.h"
#include "nn/layers.h"
#include "nn/model.h"
#include "runtime/program.h"
#include "tensor/box.h"
#include "tensor/kernels/threads.h"

namespace hocket {
namespace {

constexpr std::int64_t kBatch = 12;
constexpr std::int64_t kSamples = 11;  // The last row of the batch is padding.
constexpr std::int64_t kClasses = 12;
constexpr int kSteps = 20;

SampleSpec images(std::int64_t channels, std::int64_t size) {
  SampleSpec spec;
  spec.fields = {{"image", DType::f32, {channels, size, size}}, {"label", DType::i32, {}}};
  spec.classes = kClasses;
  return spec;
}

SampleSpec text(std::int64_t context) {
  SampleSpec spec;
  spec.fields = {{"tokens", DType::i32, {context}}, {"label", DType::i32, {context}}};
  spec.target = Target::next_token;
  spec.classes = kClasses;
  return spec;
}

// The whole batch's tensor for an input.
Tensor make_input(const std::string& name, const Type& type, int step) {
  Tensor tensor(type.dtype, type.shape);
  Rng rng{11, name.size(), static_cast<std::uint64_t>(name[0]), static_cast<std::uint64_t>(step)};
  if (name == "hyper") {
    const Hyper hyper = hyper_at({.rule = "adamw"}, 0.01, step);
    std::copy_n(&hyper.learning_rate, 4, tensor.values<double>().begin());
  } else if (name == "weight") {
    for (std::int64_t i = 0; i < type.shape[0]; ++i)
      tensor.values<float>()[static_cast<std::size_t>(i)] = i < kSamples ? 1 : 0;
  } else if (name == "dloss") {
    tensor.values<double>()[0] = 1.0 / kSamples;
  } else if (name == "key") {
    tensor.values<std::int64_t>()[0] = 5;
    tensor.values<std::int64_t>()[1] = step;
  } else if (type.dtype == DType::f32) {
    for (float& x : tensor.values<float>()) x = static_cast<float>(rng.normal());
  } else {
    for (std::int32_t& x : tensor.values<std::int32_t>()) x = static_cast<std::int32_t>(rng.below(kClasses));
  }
  return tensor;
}

// The forward graph for a number of samples.
using Model = std::function<std::unique_ptr<Graph>(std::int64_t rows)>;

Model named(const std::string& model, const SampleSpec& spec) {
  return [=](std::int64_t rows) { return build_model(parse_model(model), spec, rows, DType::f64); };
}

struct Part {
  Piece piece;
  Tensor values;
};

struct Outcome {
  double loss = 0;  // Summed over the ranks' shares, of the last step.
  std::map<std::string, Part> parameters;
  std::vector<Conversion> conversions;
  std::uint64_t bytes_sent = 0;  // In all steps.
  std::size_t parameter_bytes = 0, gradient_bytes = 0, state_bytes = 0;
  int most_gathered = 0, most_packed = 0;  // Buckets alive at once.
};

std::uint64_t bytes_sent(Communicator& communicator) {
  std::uint64_t sum = 0;
  for (const Mesh::Axis& axis : communicator.groups().mesh().axes()) {
    sum += communicator.groups().along(axis.name).traffic().bytes_sent;
  }
  return sum;
}

// How many results of `op` are needed at once: from the node that makes one to the last that reads it.
int most_alive(const Graph& graph, std::string_view op) {
  const std::vector<Node>& nodes = graph.nodes();
  std::map<ValueId, std::size_t> origin;  // The node whose result a value is, or views.
  std::map<std::size_t, std::size_t> last;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op->name() == op) {
      origin[nodes[i].outputs[0]] = i;
      last[i] = i;
    }
    for (const ValueId id : nodes[i].inputs) {
      const auto at = origin.find(id);
      if (at == origin.end()) continue;
      last[at->second] = i;
      if (nodes[i].op->name() == "view") origin[nodes[i].outputs[0]] = at->second;
    }
  }
  int most = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto alive = std::count_if(
        last.begin(), last.end(), [&](const auto& range) { return range.first <= i && i <= range.second; });
    most = std::max(most, static_cast<int>(alive));
  }
  return most;
}

ProgramOptions reference() {
  ProgramOptions options;
  options.optimizer.rule = "adamw";
  options.optimizer.weight_decay = 0.01;
  options.kernels = KernelSet::reference;
  return options;
}

// Trains as one rank of a mesh, or alone, and returns what this rank has of the parameters.
Outcome train_one(const Model& model, ProgramOptions options, int micro) {
  options.micro_batches = micro;
  const std::int64_t rows = kBatch / micro;
  const std::unique_ptr<Graph> forward = model(rows);
  Program program(*forward, options);
  StepMemory memory(program.layouts(), options.communicator);
  memory.initialize(program, 3);
  Executable& training = program.training();
  Slot slot = training.make_slot();
  const AxisShare dp = options.place.mesh.share(options.place.rank, "dp");
  Outcome outcome;
  const std::uint64_t sent_before = options.communicator == nullptr ? 0 : bytes_sent(*options.communicator);
  for (int step = 0; step < kSteps; ++step) {
    outcome.loss = 0;
    if (micro > 1) std::fill(memory.gradients.bytes().begin(), memory.gradients.bytes().end(), std::byte{0});
    std::vector<Tensor> bound;
    for (int part = 0; part < micro; ++part) {
      for (const ValueId id : training.graph().values_of(Role::input)) {
        const ValueInfo& input = training.graph().value(id);
        Type global = input.type;
        const bool is_batch = input.name != "hyper" && input.name != "dloss" && input.name != "key";
        if (is_batch) global.shape[0] = kBatch;
        const Tensor whole = make_input(input.name, global, step);
        IntList begin(static_cast<std::size_t>(global.shape.rank()), 0);
        const std::int64_t first = part * rows + dp.index * (rows / dp.count);
        if (is_batch) begin[0] = first;
        bound.emplace_back(input.type.dtype, input.type.shape);
        copy_from_box(whole, begin, bound.back());
        if (input.name == "key") bound.back().values<std::int64_t>()[2] = first;
        training.bind(slot, input.name, bound.back().bytes().data());
      }
      training.run(Phase::forward, slot, memory.bindings());
      const Tensor loss = training.output(slot, "loss");
      outcome.loss += loss.dtype() == DType::f64 ? loss.values<double>()[0]
                                                 : static_cast<double>(loss.values<float>()[0]);
      training.run(Phase::backward, slot, memory.bindings());
    }
    training.run(Phase::update, slot, memory.bindings());
  }
  for (const Piece& piece : program.pieces(Role::parameter)) {
    const Tensor own = view_of(memory.parameters, piece);
    Tensor copy(own.dtype(), own.shape());
    std::copy(own.bytes().begin(), own.bytes().end(), copy.bytes().begin());
    outcome.parameters.emplace(piece.name(), Part{piece, copy});
  }
  outcome.conversions = program.conversions();
  outcome.parameter_bytes = program.layouts().parameters.bytes();
  outcome.gradient_bytes = program.layouts().gradients.bytes();
  outcome.state_bytes = program.layouts().state.bytes();
  if (options.communicator != nullptr) outcome.bytes_sent = bytes_sent(*options.communicator) - sent_before;
  outcome.most_gathered = most_alive(training.graph(), "all_gather");
  outcome.most_packed = most_alive(training.graph(), "pack");
  return outcome;
}

double difference(const Tensor& a, const Tensor& b) {
  double most = 0;
  const auto value = [](const Tensor& tensor, std::size_t i) {
    return tensor.dtype() == DType::f64 ? tensor.values<double>()[i]
                                        : static_cast<double>(tensor.values<float>()[i]);
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.shape().count()); ++i) {
    most = std::max(most, std::fabs(value(a, i) - value(b, i)));
  }
  return most;
}

struct Cut {
  std::string mesh;
  std::vector<std::string> places = {};
  bool sync_batch_norm = true;
  int micro = 1;
  int zero = 0;
  bool overlap = false;
  std::size_t bucket_bytes = std::size_t{1} << 40;
  Medium medium = Medium::inproc;
  Algorithm algorithm = Algorithm::automatic;  // Of all-reduce.
};

struct MeshRun {
  std::vector<Outcome> ranks;
  std::vector<std::string> errors;
};

MeshRun train_on_mesh(const Model& model, const ProgramOptions& base, const Cut& cut) {
  const Mesh mesh = Mesh::parse(cut.mesh, 0);
  MeshRun run;
  run.ranks.resize(static_cast<std::size_t>(mesh.size()));
  run.errors = run_ranks(
      mesh.size(),
      [&](std::unique_ptr<Transport> transport) {
        MeshGroups groups(std::move(transport), mesh);
        if (cut.algorithm != Algorithm::automatic) {
          groups.along("dp").set_chooser([&](Collective collective, std::size_t) {
            return collective == Collective::all_reduce ? std::optional(cut.algorithm) : std::nullopt;
          });
        }
        Communicator communicator(groups, cut.overlap);
        ProgramOptions options = base;
        options.communicator = &communicator;
        options.bucket_bytes = cut.bucket_bytes;
        options.zero = cut.zero;
        options.place.mesh = mesh;
        options.place.rank = groups.rank();
        options.place.sync_batch_norm = cut.sync_batch_norm;
        for (const std::string& text : cut.places)
          options.place.declarations.push_back(Declaration::parse(text));
        run.ranks[static_cast<std::size_t>(groups.rank())] = train_one(model, options, cut.micro);
      },
      cut.medium);
  return run;
}

void expect_serial(const Model& model, const Cut& cut, const ProgramOptions& options = reference()) {
  kernel::set_num_threads(1);
  const Outcome serial = train_one(model, options, cut.micro);
  const MeshRun run = train_on_mesh(model, options, cut);
  for (const std::string& error : run.errors) ASSERT_EQ(error, "");
  const Mesh mesh = Mesh::parse(cut.mesh, 0);
  double loss = 0;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const Outcome& own = run.ranks[static_cast<std::size_t>(rank)];
    if (mesh.share(rank, "tp").index == 0) loss += own.loss;
    ASSERT_EQ(own.parameters.size(), serial.parameters.size());
    for (const auto& [name, part] : own.parameters) {
      Tensor expected(part.values.dtype(), part.values.shape());
      copy_piece(serial.parameters.at(name).values, part.piece, expected);
      EXPECT_LE(difference(part.values, expected), 1e-10) << "rank " << rank << ": " << name;
    }
  }
  EXPECT_NEAR(loss, serial.loss, 1e-9);
}

void expect_serial(const std::string& model, const SampleSpec& spec, const Cut& cut,
                   const ProgramOptions& options = reference()) {
  SCOPED_TRACE(model + " on " + cut.mesh);
  expect_serial(named(model, spec), cut, options);
}

const std::vector<std::pair<std::string, SampleSpec>>& models() {
  static const std::vector<std::pair<std::string, SampleSpec>> kModels{
      {"mlp,hidden=24x16", images(1, 6)},
      {"lenet,channels=4x8,hidden=16", images(1, 8)},
      {"resnet,depth=8", images(3, 4)},
      {"gpt,layers=2,width=16,heads=4", text(8)}};
  return kModels;
}

TEST(PlacedProgram, CutByTheBatchTrainsAsOneWorker) {
  for (const auto& [model, spec] : models()) {
    for (const char* mesh : {"dp=2", "dp=3", "dp=4"}) expect_serial(model, spec, {mesh});
  }
}

struct CutModel {
  std::string model;
  SampleSpec spec;
  std::vector<std::string> places;
};

std::vector<CutModel> cut_models() {
  return {{"mlp,hidden=24x16", images(1, 6), {"fc1.weight=tp:0", "fc2.weight=tp:1", "fc3.weight=tp:0"}},
          {"lenet,channels=4x8,hidden=16",
           images(1, 8),
           {"conv1.weight=tp:0", "conv2.weight=tp:1", "fc1.weight=tp:0", "fc2.weight=tp:1"}},
          {"gpt,layers=2,width=16,heads=4",
           text(8),
           {"*.qkv.weight=tp:0", "*.proj.weight=tp:1", "*.up.weight=tp:0", "*.down.weight=tp:1"}}};
}

TEST(PlacedProgram, CutByWeightsTrainsAsOneWorker) {
  for (const CutModel& cut : cut_models()) {
    for (const char* mesh : {"tp=2", "tp=4", "dp=2,tp=2"})
      expect_serial(cut.model, cut.spec, {mesh, cut.places});
  }
}

// As the models themselves say.
TEST(PlacedProgram, CutByPresetsTrainsAsOneWorker) {
  for (const auto& [model, spec] : models()) {
    for (const char* mesh : {"tp=2", "tp=4", "dp=2,tp=2"}) expect_serial(model, spec, {mesh});
  }
  expect_serial("gpt,layers=1,width=16,heads=4,tied=1,dropout=0.2", text(8), {"dp=2,tp=2"});
}

TEST(PlacedProgram, ShardedAlongTheBatchTrainsAsOneWorker) {
  for (const auto& [model, spec] : models()) {
    if (model.starts_with("resnet")) continue;
    for (const int level : {1, 2, 3}) {
      SCOPED_TRACE(level);
      for (const char* mesh : {"dp=2", "dp=3"})
        expect_serial(model, spec, {.mesh = mesh, .zero = level, .bucket_bytes = 2048});
    }
  }
}

TEST(PlacedProgram, MixesEveryWayOfCutting) {
  const CutModel gpt = cut_models().back();
  for (const int level : {1, 2, 3}) {
    SCOPED_TRACE(level);
    for (const bool overlap : {false, true}) {
      expect_serial(gpt.model, gpt.spec,
                    {.mesh = "dp=2,tp=2",
                     .places = gpt.places,
                     .zero = level,
                     .overlap = overlap,
                     .bucket_bytes = 2048});
    }
    expect_serial("resnet,depth=8", images(3, 4), {.mesh = "dp=2", .zero = level, .bucket_bytes = 8192});
    expect_serial("mlp,hidden=24x16", images(1, 6),
                  {.mesh = "dp=2", .micro = 3, .zero = level, .bucket_bytes = 2048});
  }
}

// A sum over P ranks of N bytes costs each rank 2N(P−1)/P; ZeRO gathers (P−1)/P of them once more.
TEST(PlacedProgram, SendsWhatTheFormulasSay) {
  const auto& [model, spec] = models().back();
  for (const int ranks : {2, 4}) {
    const std::string mesh = fmt::format("dp={}", ranks);
    const auto share = static_cast<std::uint64_t>(ranks - 1), count = static_cast<std::uint64_t>(ranks);
    for (const int level : {0, 1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{} ranks, level {}", ranks, level));
      const MeshRun run = train_on_mesh(named(model, spec), reference(),
                                        {.mesh = mesh,
                                         .zero = level,
                                         .bucket_bytes = 8192,
                                         .medium = Medium::tcp,
                                         .algorithm = Algorithm::sharded});
      const std::uint64_t vector =
          level == 3 ? count * run.ranks[0].parameter_bytes : run.ranks[0].parameter_bytes;
      for (const Outcome& own : run.ranks) {
        EXPECT_EQ(own.bytes_sent, kSteps * (level == 3 ? 3 : 2) * vector * share / count);
      }
    }
  }
}

TEST(PlacedProgram, KeepsAShareOfWhatIsSharded) {
  const auto& [model, spec] = models().back();
  const std::size_t whole =
      train_on_mesh(named(model, spec), reference(), {.mesh = "dp=2"}).ranks[0].parameter_bytes;
  for (const int ranks : {2, 4}) {
    const auto count = static_cast<std::size_t>(ranks);
    for (const int level : {1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{} ranks, level {}", ranks, level));
      const MeshRun run =
          train_on_mesh(named(model, spec), reference(),
                        {.mesh = fmt::format("dp={}", ranks), .zero = level, .bucket_bytes = 4096});
      for (const Outcome& own : run.ranks) {
        const std::size_t padded = level == 3 ? own.parameter_bytes * count : own.parameter_bytes;
        EXPECT_GE(padded, whole);
        EXPECT_LE(padded, whole + whole / 50);
        EXPECT_EQ(own.state_bytes, 2 * padded / count);
        EXPECT_EQ(own.gradient_bytes, level == 1 ? padded : padded / count);
        EXPECT_LE(own.most_gathered, 2);
        EXPECT_LE(own.most_packed, 1);
      }
    }
  }
}

TEST(PlacedProgram, KeepsDropoutsMasks) {
  expect_serial("mlp,hidden=24x16,dropout=0.3", images(1, 6), {"dp=3"});
}

TEST(PlacedProgram, ClipsByTheNormOfAllRanks) {
  ProgramOptions options = reference();
  options.optimizer.clip = 0.1;
  for (const int level : {0, 1, 2, 3}) {
    expect_serial("mlp,hidden=72x48", images(1, 6), {.mesh = "dp=2", .zero = level, .bucket_bytes = 20000},
                  options);
  }
  expect_serial("mlp,hidden=24x16", images(1, 6), {"tp=2"}, options);
}

TEST(PlacedProgram, AddsUpMicroBatches) {
  expect_serial("mlp,hidden=24x16", images(1, 6), {.mesh = "dp=2", .micro = 3});
}

TEST(PlacedProgram, ReducesInBucketsInTheBackground) {
  for (const Medium medium : {Medium::inproc, Medium::shm, Medium::tcp}) {
    expect_serial("gpt,layers=2,width=16,heads=4", text(8),
                  {.mesh = "dp=2", .overlap = true, .bucket_bytes = 4096, .medium = medium});
  }
}

// Small graphs of random operators, with parameters in them wherever they fit.
class RandomModel {
 public:
  explicit RandomModel(std::uint64_t seed) : seed_(seed) {}

  std::unique_ptr<Graph> operator()(std::int64_t rows) const {
    auto graph = std::make_unique<Graph>();
    Rng rng{seed_, 77};
    Builder b(*graph, rows, DType::f64);
    std::vector<Value> values{b.input("image", DType::f32, {8})};
    for (int i = 0; i < 7; ++i) {
      const auto scope = b.scope(fmt::format("n{}", i));
      values.push_back(next(b, rng, values));
    }
    Value scores;
    {
      const auto scope = b.scope("head");
      scores = linear(b, flatten(b, values.back()), kClasses);
    }
    const Value label = b.input("label", DType::i32, {});
    graph->set_output("loss", b.add("softmax_cross_entropy", {scores, label, b.sample_weight()}, {}, "loss"));
    return graph;
  }

 private:
  static Value next(Builder& b, Rng& rng, const std::vector<Value>& values) {
    const auto pick = [&] {
      return values[values.size() - 1 - rng.below(std::min<std::size_t>(3, values.size()))];
    };
    const Value x = pick();
    switch (rng.below(9)) {
      case 0:
      case 1: return linear(b, x, std::int64_t{4} * static_cast<std::int64_t>(1 + rng.below(3)));
      case 2: return b.add("gelu", {x});
      case 3: {
        const Value y = pick();
        return x.shape() == y.shape() ? b.add("mul", {x, y}) : b.add("tanh", {x});
      }
      case 4: {
        const Value y = pick();
        return x.shape() == y.shape() ? b.add("add", {x, y}) : b.add("scale", {x}, {{"factor", 0.5}});
      }
      case 5: return layer_norm(b, x);
      case 6: return dropout(b, x, 0.25);
      case 7: return b.add("softmax", {x});
      default: break;
    }
    const std::int64_t width = x.shape().back();
    const Value halves = b.add("reshape", {x}, {{"shape", IntList{-1, 2, width / 2}}}, "halves");
    const Value swapped = b.add("transpose", {halves}, {{"perm", IntList{0, 2, 1}}}, "swapped");
    return b.add("reshape", {swapped}, {{"shape", IntList{-1, width}}});
  }

  std::uint64_t seed_;
};

// Cuts some parameters somewhere; what the compiler refuses is left out.
std::vector<std::string> random_places(Graph& graph, const Mesh& mesh, Rng& rng) {
  std::vector<std::string> places;
  remove_dead_nodes(graph);
  if (mesh.size_of("tp") == 1) return places;
  for (const ValueId id : graph.values_of(Role::parameter)) {
    if (rng.below(2) == 0) continue;
    const auto dim = rng.below(static_cast<std::uint64_t>(graph.value(id).type.shape.rank()));
    const std::string place = fmt::format("{}=tp:{}", graph.value(id).name, dim);
    try {
      PlaceOptions options;
      options.mesh = mesh;
      options.declarations = {Declaration::parse(place)};
      assign_placements(graph, options);
      places.push_back(place);
    } catch (const ConfigError&) {
    }
  }
  return places;
}

TEST(PlacedProgram, OfARandomGraphTrainsAsTheWholeWhateverIsCut) {
  int cuts = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng{seed, 5};
    const RandomModel model(seed);
    const char* meshes[] = {"dp=2", "tp=2", "tp=4", "dp=2,tp=2", "dp=3"};
    Cut cut;
    cut.mesh = meshes[rng.below(5)];
    cut.zero = static_cast<int>(rng.below(4));
    cut.bucket_bytes = std::size_t{256} << rng.below(6);
    cut.places = random_places(*model(kBatch), Mesh::parse(cut.mesh, 0), rng);
    cuts += static_cast<int>(cut.places.size());
    SCOPED_TRACE(
        fmt::format("seed {}, mesh {}, ZeRO {}, {}", seed, cut.mesh, cut.zero, fmt::join(cut.places, " ")));
    expect_serial(model, cut);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(cuts, 100);
}

}  // namespace
}  // namespace hocket
