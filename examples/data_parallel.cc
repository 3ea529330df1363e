// Fits y = x² by a small network: a training loop for all ranks of a job.
#include <cstdio>

#include "nn/builder.h"
#include "nn/layers.h"
#include "runtime/program.h"
#include "train/team.h"

namespace {

constexpr std::int64_t kBatch = 64;

void build(hocket::Graph& graph) {
  hocket::Builder builder(graph, kBatch);
  hocket::Value h = builder.input("x", hocket::DType::f32, {1});
  const hocket::Value label = builder.input("label", hocket::DType::f32, {1});
  {
    const auto scope = builder.scope("hidden");
    h = builder.add("tanh", {hocket::linear(builder, h, 8)}, {}, "tanh");
  }
  const auto scope = builder.scope("out");
  h = hocket::linear(builder, h, 1);
  graph.set_output("loss", builder.add("squared_error", {h, label, builder.sample_weight()}, {}, "loss"));
}

}  // namespace

int main() {
  hocket::Team team = hocket::Team::join();
  hocket::Graph model;
  build(model);
  hocket::ProgramOptions options;
  options.optimizer.rule = "momentum";
  options.place.mesh = team.mesh();
  options.place.rank = team.rank();
  options.communicator = team.communicator();
  hocket::Program program(model, options);
  hocket::StepMemory memory(program.layouts(), team.communicator());
  memory.initialize(program, /*seed=*/1);

  // This rank's rows of the batch.
  const std::int64_t rows = kBatch / team.size();
  hocket::Tensor x(hocket::DType::f32, {rows, 1}), label(hocket::DType::f32, {rows, 1});
  hocket::Tensor weight(hocket::DType::f32, {rows});
  for (std::int64_t i = 0; i < rows; ++i) {
    const float at = static_cast<float>(team.rank() * rows + i) / (kBatch / 2) - 1;
    x.values<float>()[static_cast<std::size_t>(i)] = at;
    label.values<float>()[static_cast<std::size_t>(i)] = at * at;
    weight.values<float>()[static_cast<std::size_t>(i)] = 1;
  }
  float loss_scale = 1.0F / kBatch;
  hocket::Hyper hyper;
  hyper.learning_rate = 0.05;

  hocket::Executable& step = program.training();
  hocket::Slot slot = step.make_slot();
  step.bind(slot, "x", x.bytes().data());
  step.bind(slot, "label", label.bytes().data());
  step.bind(slot, "weight", weight.bytes().data());
  step.bind(slot, "dloss", reinterpret_cast<std::byte*>(&loss_scale));
  step.bind(slot, "hyper", reinterpret_cast<std::byte*>(&hyper));
  for (int i = 0; i < 500; ++i) {
    for (const auto phase : {hocket::Phase::forward, hocket::Phase::backward, hocket::Phase::update})
      step.run(phase, slot, memory.bindings());
  }

  double loss = step.output(slot, "loss").values<float>()[0] / kBatch;
  team.sum_along("dp", {&loss, 1});
  if (!team.is_first()) return 0;
  for (const hocket::Piece& piece : program.pieces(hocket::Role::parameter)) {
    for (const float value : hocket::view_of(memory.parameters, piece).values<float>())
      std::printf("%s %.9g\n", piece.name().c_str(), static_cast<double>(value));
  }
  return loss < 0.001 ? 0 : 1;
}
