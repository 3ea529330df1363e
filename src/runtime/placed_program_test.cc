// A step that is cut along a mesh trains as the whole one does.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "graph/passes/passes.h"
#include "nn/layers.h"
#include "runtime/mesh_training.h"
#include "tensor/kernels/threads.h"

namespace hocket {
namespace {

void expect_as(const Outcome& serial, const MeshModel& model, const MeshCut& cut,
               const ProgramOptions& options) {
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

void expect_serial(const MeshModel& model, const MeshCut& cut,
                   const ProgramOptions& options = reference_options()) {
  kernel::set_num_threads(1);
  expect_as(train_one(model, options, cut.micro), model, cut, options);
}

void expect_serial(const std::string& model, const SampleSpec& spec, const MeshCut& cut,
                   const ProgramOptions& options = reference_options()) {
  SCOPED_TRACE(model + " on " + cut.mesh);
  expect_serial(named(model, spec), cut, options);
}

const std::vector<std::pair<std::string, SampleSpec>>& models() {
  static const std::vector<std::pair<std::string, SampleSpec>> kModels{
      {"mlp,hidden=24x16", image_samples(1, 6)},
      {"lenet,channels=4x8,hidden=16", image_samples(1, 8)},
      {"resnet,depth=8", image_samples(3, 4)},
      {"gpt,layers=2,width=16,heads=4", text_samples(8)}};
  return kModels;
}

// Of its real depth, by its own optimizer and with batch norm over the whole batch; images are as small as
// three stages allow.
TEST(PlacedProgram, ResNet20TrainsAsOneWorkerHoweverItIsCut) {
  kernel::set_num_threads(1);
  const MeshModel model = named("resnet,depth=20", image_samples(3, 4));
  ProgramOptions options = reference_options();
  options.optimizer.rule = "momentum";
  const Outcome serial = train_one(model, options, 1);
  std::vector<MeshCut> cuts{{"dp=2"}};
  if (kMeshSteps == 20) {  // Under sanitizers depth 8, below, stands for the rest.
    for (const char* mesh : {"dp=3", "dp=4", "tp=2", "dp=2,tp=2"}) cuts.push_back({mesh});
    for (const int level : {1, 2, 3}) cuts.push_back({.mesh = "dp=2", .zero = level, .bucket_bytes = 65536});
  }
  for (const MeshCut& cut : cuts) {
    SCOPED_TRACE(fmt::format("{}, ZeRO {}", cut.mesh, cut.zero));
    expect_as(serial, model, cut, options);
  }
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
  return {
      {"mlp,hidden=24x16", image_samples(1, 6), {"fc1.weight=tp:0", "fc2.weight=tp:1", "fc3.weight=tp:0"}},
      {"lenet,channels=4x8,hidden=16",
       image_samples(1, 8),
       {"conv1.weight=tp:0", "conv2.weight=tp:1", "fc1.weight=tp:0", "fc2.weight=tp:1"}},
      {"gpt,layers=2,width=16,heads=4",
       text_samples(8),
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
  expect_serial("gpt,layers=1,width=16,heads=4,tied=1,dropout=0.2", text_samples(8), {"dp=2,tp=2"});
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

TEST(PlacedProgram, MayUpdateWhileTheNextForwardRuns) {
  for (const auto& [model, spec] : models()) {
    for (const char* mesh : {"dp=2", "dp=3"}) {
      for (const std::size_t bytes : {512, 8192}) {
        expect_serial(model, spec, {.mesh = mesh, .overlap = true, .late = true, .bucket_bytes = bytes});
      }
    }
  }
}

// How many exchanges a step of two ranks has, with gradients of 512 × 256 and 12 × 512 and two of bias.
std::size_t exchanges_of_mlp(std::int64_t rows, std::size_t bucket_bytes,
                             KernelSet kernels = KernelSet::fast) {
  std::size_t found = 0;
  const auto body = [&](std::unique_ptr<Transport> transport) {
    MeshGroups groups(std::move(transport), Mesh::parse("dp=2", 2));
    Communicator communicator(groups, true);
    ProgramOptions options = reference_options();
    options.kernels = kernels;
    options.communicator = &communicator;
    options.bucket_bytes = bucket_bytes;
    options.place.mesh = groups.mesh();
    options.place.rank = groups.rank();
    Program program(*named("mlp,hidden=512", image_samples(1, 16), DType::f32)(rows), options);
    if (groups.rank() == 0) found = program.training().exchanges().count();
  };
  for (const std::string& error : run_ranks(2, body)) EXPECT_EQ(error, "");
  return found;
}

TEST(PlacedProgram, SumsALargeGradientInPartsAsTheyAreMade) {
  EXPECT_EQ(exchanges_of_mlp(256, std::size_t{1} << 16), 4U + 1);  // And the others of its bucket.
  EXPECT_EQ(exchanges_of_mlp(256, std::size_t{1} << 18), 2U + 1);
  EXPECT_EQ(exchanges_of_mlp(256, std::size_t{1} << 20), 1U);
  EXPECT_EQ(exchanges_of_mlp(12, std::size_t{1} << 16), 4U + 1);
  EXPECT_EQ(exchanges_of_mlp(1024, std::size_t{1} << 16), 4U + 1);
  EXPECT_EQ(exchanges_of_mlp(2048, std::size_t{1} << 16), 1U);
}

// Ranks whose processors have other kernels must sum the same.
TEST(PlacedProgram, SumsTheSamePartsWhateverTheKernels) {
  for (const std::int64_t rows : {12, 256, 1024}) {
    EXPECT_EQ(exchanges_of_mlp(rows, std::size_t{1} << 16, KernelSet::reference),
              exchanges_of_mlp(rows, std::size_t{1} << 16));
  }
}

// What is left to the next forward must not lie where that writes: not with clipping, whose factor does, nor
// with slices that are gathered, nor where gradients are summed by the update.
TEST(PlacedProgram, DoesNotUpdateLateWhatItMustNot) {
  const auto can = [](const ProgramOptions& base, int zero, int micro) {
    bool found = true;
    run_ranks(2, [&](std::unique_ptr<Transport> transport) {
      MeshGroups groups(std::move(transport), Mesh::parse("dp=2", 2));
      Communicator communicator(groups, true);
      ProgramOptions options = base;
      options.communicator = &communicator;
      options.zero = zero;
      options.micro_batches = micro;
      options.place.mesh = groups.mesh();
      options.place.rank = groups.rank();
      Program program(*named("mlp,hidden=8", image_samples(1, 4))(kMeshBatch), options);
      if (groups.rank() == 0) found = program.training().can_update_late();
    });
    return found;
  };
  const ProgramOptions plain = reference_options();
  EXPECT_TRUE(can(plain, 0, 1));
  ProgramOptions clipped = plain;
  clipped.optimizer.clip = 1;
  EXPECT_FALSE(can(clipped, 0, 1));
  for (const int level : {1, 2, 3}) EXPECT_FALSE(can(plain, level, 1));
}

// Weights in common are for updates of sums and nothing else: the factor of clipping is made of all of them,
// and slices, gradients that add up and sums in the background have a course of their own.
TEST(PlacedProgram, HasWeightsInCommonWhereUpdatesCanBeShared) {
  const auto can = [](const ProgramOptions& base, Medium medium = Medium::inproc, bool overlap = false) {
    bool found = false;
    const auto body = [&](std::unique_ptr<Transport> transport) {
      MeshGroups groups(std::move(transport), Mesh::parse("dp=2", 2));
      Communicator communicator(groups, overlap);
      ProgramOptions options = base;
      options.communicator = &communicator;
      options.place.mesh = groups.mesh();
      options.place.rank = groups.rank();
      Program program(*named("mlp,hidden=8", image_samples(1, 4), DType::f32)(kMeshBatch), options);
      if (groups.rank() == 0) found = program.training().can_have_common_weights();
    };
    for (const std::string& error : run_ranks(2, body, medium)) EXPECT_EQ(error, "");
    return found;
  };
  const auto with = [](auto change) {
    ProgramOptions options = reference_options();
    options.kernels = KernelSet::fast;
    change(options);
    return options;
  };
  const ProgramOptions plain = with([](ProgramOptions&) {});
  EXPECT_TRUE(can(plain));
  EXPECT_TRUE(can(plain, Medium::shm));
  EXPECT_TRUE(can(with([](ProgramOptions& o) { o.bucket_bytes = 64; })));
  EXPECT_FALSE(can(plain, Medium::tcp));
  EXPECT_FALSE(can(plain, Medium::tcp, true));
  EXPECT_FALSE(can(plain, Medium::inproc, true));
  EXPECT_FALSE(can(with([](ProgramOptions& o) { o.optimizer.clip = 1; })));
  EXPECT_FALSE(can(with([](ProgramOptions& o) { o.gradient_norm = true; })));
  EXPECT_FALSE(can(with([](ProgramOptions& o) { o.micro_batches = 2; })));
  EXPECT_FALSE(can(with([](ProgramOptions& o) { o.updates = false; })));
  EXPECT_FALSE(can(with([](ProgramOptions& o) { o.compress = Compression::parse("bf16"); })));
  EXPECT_FALSE(can(with([](ProgramOptions& o) { o.kernels = KernelSet::reference; })));
  for (const int level : {1, 2, 3}) EXPECT_FALSE(can(with([&](ProgramOptions& o) { o.zero = level; })));
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
    expect_serial("resnet,depth=8", image_samples(3, 4),
                  {.mesh = "dp=2", .zero = level, .bucket_bytes = 8192});
    expect_serial("mlp,hidden=24x16", image_samples(1, 6),
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
      const MeshRun run = train_on_mesh(named(model, spec), reference_options(),
                                        {.mesh = mesh,
                                         .zero = level,
                                         .bucket_bytes = 8192,
                                         .medium = Medium::tcp,
                                         .algorithm = Algorithm::sharded});
      const std::uint64_t vector =
          level == 3 ? count * run.ranks[0].parameter_bytes : run.ranks[0].parameter_bytes;
      for (const Outcome& own : run.ranks) {
        EXPECT_EQ(own.bytes_sent, kMeshSteps * (level == 3 ? 3 : 2) * vector * share / count);
      }
    }
  }
}

TEST(PlacedProgram, GathersFactorsAndTrainsAsOneWorker) {
  for (const char* mesh : {"dp=2", "dp=3", "dp=4"}) {
    for (const int micro : {1, 3}) {
      if (micro == 3 && std::string_view(mesh) == "dp=3") continue;  // Rows do not divide.
      expect_serial("mlp,hidden=64x4", image_samples(1, 8), {.mesh = mesh, .micro = micro, .factors = true});
    }
  }
  expect_serial("gpt,layers=1,width=32,heads=4", text_samples(2), {.mesh = "dp=2", .factors = true});
  expect_serial("mlp,hidden=64x16", image_samples(1, 8), {.mesh = "dp=2,tp=2", .factors = true});
}

// The factors of an M × N weight's gradient, from a batch of b, are b(M+N) elements that are gathered, the
// gradient MN that are summed at twice the price.
TEST(PlacedProgram, GathersFactorsExactlyWhereTheyAreFewerBytes) {
  const auto gathered = [](const std::string& model, const SampleSpec& spec, int micro) {
    const MeshRun run = train_on_mesh(named(model, spec), reference_options(),
                                      {.mesh = "dp=2", .micro = micro, .factors = true});
    const std::vector<Conversion>& made = run.ranks[0].conversions;
    return std::count_if(made.begin(), made.end(),
                         [](const Conversion& each) { return each.collective == "all_gather"; });
  };
  // 12 · (12 + 12) is as much as 2 · 12 · 12, and 12 · (12 + 13) is less than 2 · 12 · 13.
  EXPECT_EQ(gathered("mlp,hidden=12", image_samples(3, 2), 1), 0);
  EXPECT_EQ(gathered("mlp,hidden=13", image_samples(3, 2), 1), 4);
  // A sum is made once, however many micro-batches there are.
  EXPECT_EQ(gathered("mlp,hidden=12", image_samples(3, 2), 2), 0);
  EXPECT_EQ(gathered("mlp,hidden=13", image_samples(3, 2), 2), 4);
  EXPECT_EQ(gathered("mlp,hidden=64x4", image_samples(1, 8), 1), 2);  // Of the first layer alone.
}

TEST(PlacedProgram, SendsFactorsAsTheFormulaSays) {
  // Weights of 64 × 64, 64 × 4 and 4 × 12. All but the first one are summed, in whole lines of 8 elements.
  constexpr std::uint64_t kFactors = kMeshBatch * (64 + 64), kSums = 64 + 64 * 4 + 8 + 4 * 12 + 16;
  for (const std::uint64_t ranks : {2, 4}) {
    const MeshRun run = train_on_mesh(named("mlp,hidden=64x4", image_samples(1, 8)), reference_options(),
                                      {.mesh = fmt::format("dp={}", ranks),
                                       .factors = true,
                                       .medium = Medium::tcp,
                                       .algorithm = Algorithm::sharded});
    for (const Outcome& own : run.ranks) {
      EXPECT_EQ(own.bytes_sent, kMeshSteps * 8 * (kFactors + 2 * kSums) * (ranks - 1) / ranks);
    }
  }
}

TEST(PlacedProgram, KeepsAShareOfWhatIsSharded) {
  const auto& [model, spec] = models().back();
  const std::size_t whole =
      train_on_mesh(named(model, spec), reference_options(), {.mesh = "dp=2"}).ranks[0].parameter_bytes;
  for (const int ranks : {2, 4}) {
    const auto count = static_cast<std::size_t>(ranks);
    for (const int level : {1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{} ranks, level {}", ranks, level));
      const MeshRun run =
          train_on_mesh(named(model, spec), reference_options(),
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
  expect_serial("mlp,hidden=24x16,dropout=0.3", image_samples(1, 6), {"dp=3"});
}

TEST(PlacedProgram, ClipsByTheNormOfAllRanks) {
  ProgramOptions options = reference_options();
  options.optimizer.clip = 0.1;
  for (const int level : {0, 1, 2, 3}) {
    expect_serial("mlp,hidden=72x48", image_samples(1, 6),
                  {.mesh = "dp=2", .zero = level, .bucket_bytes = 20000}, options);
  }
  expect_serial("mlp,hidden=24x16", image_samples(1, 6), {"tp=2"}, options);
}

TEST(PlacedProgram, AddsUpMicroBatches) {
  expect_serial("mlp,hidden=24x16", image_samples(1, 6), {.mesh = "dp=2", .micro = 3});
}

TEST(PlacedProgram, ReducesInBucketsInTheBackground) {
  for (const Medium medium : {Medium::inproc, Medium::shm, Medium::tcp}) {
    expect_serial("gpt,layers=2,width=16,heads=4", text_samples(8),
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
      scores = linear(b, flatten(b, values.back()), kMeshClasses);
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
  for (std::uint64_t seed = 0; seed < kRandomGraphs; ++seed) {
    Rng rng{seed, 5};
    const RandomModel model(seed);
    const char* meshes[] = {"dp=2", "tp=2", "tp=4", "dp=2,tp=2", "dp=3"};
    MeshCut cut;
    cut.mesh = meshes[rng.below(5)];
    cut.zero = static_cast<int>(rng.below(4));
    cut.bucket_bytes = std::size_t{256} << rng.below(6);
    cut.places = random_places(*model(kMeshBatch), Mesh::parse(cut.mesh, 0), rng);
    cuts += static_cast<int>(cut.places.size());
    SCOPED_TRACE(
        fmt::format("seed {}, mesh {}, ZeRO {}, {}", seed, cut.mesh, cut.zero, fmt::join(cut.places, " ")));
    expect_serial(model, cut);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(cuts, static_cast<int>(kRandomGraphs) / 2);
}

}  // namespace
}  // namespace hocket
