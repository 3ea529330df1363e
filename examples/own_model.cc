// Builds a model of its own as a graph, compiles it and runs training steps by hand: fits y = 3x - 1.
#include <cmath>
#include <cstdio>

#include "nn/builder.h"
#include "nn/layers.h"
#include "runtime/program.h"

namespace {

constexpr std::int64_t kBatch = 32;

// ŷ = w x + b, and the squared error to the label.
void build(hocket::Graph& graph) {
  hocket::Builder builder(graph, kBatch);
  const hocket::Value x = builder.input("x", hocket::DType::f32, {1});
  const hocket::Value label = builder.input("label", hocket::DType::f32, {});
  const auto scope = builder.scope("line");
  const hocket::Value y = hocket::linear(builder, x, 1);
  graph.set_output("loss", builder.add("squared_error", {y, label, builder.sample_weight()}, {}, "loss"));
}

}  // namespace

int main() {
  hocket::Graph model;
  build(model);
  hocket::ProgramOptions options;
  options.optimizer.rule = "momentum";
  hocket::Program program(model, options);
  hocket::StepMemory memory(program.layouts());
  memory.initialize(program, /*seed=*/1);

  // A batch is memory of the caller, bound to the inputs by name.
  hocket::Tensor x(hocket::DType::f32, {kBatch, 1});
  hocket::Tensor label(hocket::DType::f32, {kBatch});
  hocket::Tensor weight(hocket::DType::f32, {kBatch});
  for (std::size_t i = 0; i < kBatch; ++i) {
    x.values<float>()[i] = static_cast<float>(i) / kBatch;
    label.values<float>()[i] = 3 * x.values<float>()[i] - 1;
    weight.values<float>()[i] = 1;
  }
  float loss_scale = 1.0F / kBatch;  // The loss is a sum over the batch; this makes its gradient a mean.
  hocket::Hyper hyper;
  hyper.learning_rate = 0.1;

  hocket::Executable& step = program.training();
  hocket::Slot slot = step.make_slot();
  step.bind(slot, "x", x.bytes().data());
  step.bind(slot, "label", label.bytes().data());
  step.bind(slot, "weight", weight.bytes().data());
  step.bind(slot, "dloss", reinterpret_cast<std::byte*>(&loss_scale));
  step.bind(slot, "hyper", reinterpret_cast<std::byte*>(&hyper));

  for (int i = 0; i < 300; ++i) {
    for (const hocket::Phase phase :
         {hocket::Phase::forward, hocket::Phase::backward, hocket::Phase::update}) {
      step.run(phase, slot, memory.bindings());
    }
  }
  const auto parameter = [&](const char* name) {
    return hocket::view_of(memory.parameters, program.layouts().parameters.at(name)).values<float>()[0];
  };
  const float w = parameter("line.weight");
  const float b = parameter("line.bias");
  std::printf("y = %.3f x + %.3f, loss %.2g\n", w, b, step.output(slot, "loss").values<float>()[0]);
  return std::abs(w - 3) < 0.01F && std::abs(b + 1) < 0.01F ? 0 : 1;
}
