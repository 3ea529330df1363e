// Gradients that travel compressed: what is sent, and that training goes on as it would without.
#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/mesh_training.h"
#include "tensor/kernels/threads.h"

namespace hocket {
namespace {

const std::string kModel = "mlp,hidden=24x16";

MeshRun train(const std::string& compress, const MeshCut& cut, DType real,
              const ProgramOptions& base = reference_options()) {
  kernel::set_num_threads(1);
  ProgramOptions options = base;
  options.compress = Compression::parse(compress);
  MeshRun run = train_on_mesh(named(kModel, image_samples(1, 6), real), options, cut);
  for (const std::string& error : run.errors) EXPECT_EQ(error, "");
  return run;
}

double largest_difference(const Outcome& a, const Outcome& b) {
  double most = 0;
  for (const auto& [name, part] : a.parameters)
    most = std::max(most, difference(part.values, b.parameters.at(name).values));
  return most;
}

// All of the elements as f32: nothing is lost but by rounding.
TEST(CompressedProgram, SendingAllElementsTrainsAsUncompressed) {
  for (const char* mesh : {"dp=2", "dp=3"}) {
    for (const DType real : {DType::f32, DType::f64}) {
      for (const int micro : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} {} micro {}", mesh, name_of(real), micro));
        const MeshCut cut{.mesh = mesh, .micro = micro, .bucket_bytes = 2048};
        const MeshRun plain = train("none", cut, real), compressed = train("topk=1", cut, real);
        for (std::size_t rank = 0; rank < plain.ranks.size(); ++rank)
          EXPECT_LE(largest_difference(plain.ranks[rank], compressed.ranks[rank]), 1e-6);
      }
    }
  }
}

TEST(CompressedProgram, EveryKindLowersTheLossAndKeepsReplicasEqual) {
  for (const char* compress : {"bf16", "int8", "topk=0.1"}) {
    for (const char* mesh : {"dp=2", "dp=3", "dp=2,tp=2"}) {
      for (const bool fast : {false, true}) {
        SCOPED_TRACE(fmt::format("{} on {}, {} kernels", compress, mesh, fast ? "fast" : "naive"));
        ProgramOptions options = reference_options();
        options.optimizer.clip = 10;
        if (fast) options.kernels = KernelSet::fast;
        const MeshCut cut{.mesh = mesh, .repeats = true, .bucket_bytes = 4096};
        const MeshRun run = train(compress, cut, DType::f32, options);
        double first = 0, last = 0;
        for (const Outcome& own : run.ranks) {
          first += own.first_loss;
          last += own.loss;
        }
        EXPECT_LT(last, kMeshSteps < 20 ? first : 0.6 * first);
        if (std::string_view(mesh).find("tp") != std::string_view::npos) continue;
        for (const Outcome& own : run.ranks) EXPECT_EQ(largest_difference(own, run.ranks[0]), 0);
        const MeshRun again = train(compress, cut, DType::f32, options);
        EXPECT_EQ(largest_difference(again.ranks[0], run.ranks[0]), 0);
      }
    }
  }
}

TEST(CompressedProgram, TravelsInTheBackgroundWithTheSameResult) {
  for (const char* compress : {"bf16", "int8", "topk=0.1"}) {
    for (const char* mesh : {"dp=2", "dp=3"}) {
      // Sums of bf16 depend on the algorithm, which the groups choose by themselves.
      if (mesh == std::string_view("dp=3") && compress == std::string_view("bf16")) continue;
      SCOPED_TRACE(fmt::format("{} on {}", compress, mesh));
      MeshCut cut{.mesh = mesh, .bucket_bytes = 1024, .medium = Medium::tcp};
      const MeshRun at_once = train(compress, cut, DType::f32);
      cut.overlap = true;
      const MeshRun behind = train(compress, cut, DType::f32);
      EXPECT_EQ(largest_difference(at_once.ranks[0], behind.ranks[0]), 0);
    }
  }
}

// A payload of N bytes, gathered by P ranks, costs each N(P−1); a sum of them, which bf16 allows, 2N(P−1)/P.
TEST(CompressedProgram, SendsWhatTheFormulasSay) {
  for (const int ranks : {2, 4}) {
    const MeshCut cut{
        .mesh = fmt::format("dp={}", ranks), .medium = Medium::tcp, .algorithm = Algorithm::sharded};
    const auto others = static_cast<std::uint64_t>(ranks - 1), count = static_cast<std::uint64_t>(ranks);
    for (const char* compress : {"bf16", "int8", "topk=0.01"}) {
      SCOPED_TRACE(fmt::format("{} on {} ranks", compress, ranks));
      const MeshRun run = train(compress, cut, DType::f64);
      const std::uint64_t elements = run.ranks[0].parameter_bytes / 8;
      std::uint64_t sent = 2 * elements * others;  // In a step.
      if (compress == std::string_view("int8")) sent = (elements + 4 * ((elements + 1023) / 1024)) * others;
      if (compress == std::string_view("topk=0.01")) sent = 8 * ((elements + 99) / 100) * others;
      if (compress == std::string_view("bf16") && ranks > 2) sent = 2 * (2 * elements) * others / count;
      for (const Outcome& own : run.ranks) EXPECT_EQ(own.bytes_sent, kMeshSteps * sent);
    }
  }
}

TEST(CompressedProgram, KeepsResidualsOutOfCheckpoints) {
  const MeshRun plain = train("none", {.mesh = "dp=2"}, DType::f32);
  const MeshRun compressed = train("int8", {.mesh = "dp=2"}, DType::f32);
  EXPECT_EQ(compressed.ranks[0].states, plain.ranks[0].states);
  EXPECT_EQ(compressed.ranks[0].gradient_bytes, plain.ranks[0].gradient_bytes);
  EXPECT_EQ(compressed.ranks[0].state_bytes, plain.ranks[0].state_bytes + plain.ranks[0].gradient_bytes);
}

TEST(CompressedProgram, RefusesWhatDoesNotGoTogether) {
  const MeshCut cut{.mesh = "dp=2", .zero = 1};
  ProgramOptions options = reference_options();
  options.compress = Compression::parse("int8");
  const MeshRun run = train_on_mesh(named(kModel, image_samples(1, 6)), options, cut);
  for (const std::string& error : run.errors)
    EXPECT_NE(error.find("compress int8 with zero 1: gradients that are sharded travel whole"),
              std::string::npos)
        << error;
  for (const char* text : {"zip", "topk", "topk=", "topk=0", "topk=1.5", "topk=nan", "int8=3", "topk=0.1x"})
    EXPECT_THROW(Compression::parse(text), ConfigError) << text;
}

}  // namespace
}  // namespace hocket
