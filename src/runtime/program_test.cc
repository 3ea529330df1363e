#include "runtime/program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "graph/differentiate.h"
#include "nn/model.h"
#include "runtime/interpreter.h"

namespace hocket {
namespace {

constexpr std::int64_t kBatch = 6;

SampleSpec images(std::int64_t channels, std::int64_t size) {
  SampleSpec spec;
  spec.fields = {{"image", DType::f32, {channels, size, size}}, {"label", DType::i32, {}}};
  spec.classes = 10;
  return spec;
}

SampleSpec text(std::int64_t context) {
  SampleSpec spec;
  spec.fields = {{"tokens", DType::i32, {context}}, {"label", DType::i32, {context}}};
  spec.target = Target::next_token;
  spec.classes = 10;
  return spec;
}

struct Case {
  std::string model;
  SampleSpec spec;
};

std::vector<Case> cases() {
  return {{"mlp,hidden=24x16", images(1, 6)},
          {"mlp,hidden=24x16,dropout=0.3", images(1, 6)},
          {"lenet,channels=4x8,hidden=16", images(1, 8)},
          {"resnet,depth=8", images(3, 8)},
          {"gpt,layers=2,width=16,heads=2", text(8)},
          {"gpt,layers=1,width=16,heads=2,tied=1,encoder=1", text(8)}};
}

// A tensor for every input of the graph: random numbers, ids below 10, the last sample without weight.
Tensor input_for(const ValueInfo& input) {
  Tensor tensor(input.type.dtype, input.type.shape);
  Rng rng{7, input.name.size(), static_cast<std::uint64_t>(input.name[0])};
  if (input.name == "hyper") {
    const Hyper hyper = hyper_at({.rule = "adamw"}, 0.01, 0);
    std::copy_n(&hyper.learning_rate, 4, tensor.values<double>().begin());
  } else if (input.type.dtype == DType::f32) {
    for (float& x : tensor.values<float>()) x = static_cast<float>(rng.normal());
  } else if (input.type.dtype == DType::i32) {
    for (std::int32_t& x : tensor.values<std::int32_t>()) x = static_cast<std::int32_t>(rng.below(10));
  }
  if (input.name == "weight") {
    for (float& x : tensor.values<float>()) x = 1;
    tensor.values<float>().back() = 0;
  }
  if (input.name == "dloss") tensor.values<float>()[0] = 1.0F / (kBatch - 1);
  return tensor;
}

// A program with its inputs bound, ready to run.
struct Instance {
  Program program;
  StepMemory memory;
  Slot slot;
  std::vector<Tensor> inputs;

  Instance(const Graph& forward, const ProgramOptions& options)
      : program(forward, options), memory(program.layouts()), slot(program.training().make_slot()) {
    const Graph& graph = program.training().graph();
    memory.initialize(program, 3);
    for (const ValueId id : graph.values_of(Role::input)) {
      inputs.push_back(input_for(graph.value(id)));
      program.training().bind(slot, graph.value(id).name, inputs.back().bytes().data());
    }
  }

  void step() {
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::update}) {
      program.training().run(phase, slot, memory.bindings());
    }
  }

  double loss() { return program.training().output(slot, "loss").values<float>()[0]; }
};

ProgramOptions adamw(KernelSet kernels) {
  ProgramOptions options;
  options.optimizer.rule = "adamw";
  options.optimizer.clip = 1;
  options.kernels = kernels;
  return options;
}

void expect_close_arenas(const Arena& a, const Arena& b, const ArenaLayout& layout, double tolerance) {
  for (const ArenaLayout::Entry& entry : layout.entries()) {
    const auto x = view_of(a, entry).values<float>();
    const auto y = view_of(b, entry).values<float>();
    double scale = 0;
    double difference = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      scale = std::max<double>(scale, std::fabs(y[i]));
      difference = std::max<double>(difference, std::fabs(x[i] - y[i]));
    }
    EXPECT_LE(difference, tolerance * (scale + 1e-3)) << entry.name;
  }
}

// Fusion, layouts, memory sharing and fast kernels change nothing but rounding.
TEST(Program, FastStepEqualsReferenceStep) {
  for (const auto& [model, spec] : cases()) {
    SCOPED_TRACE(model);
    const std::unique_ptr<Graph> forward = build_model(parse_model(model), spec, kBatch);
    Instance fast(*forward, adamw(KernelSet::fast));
    Instance reference(*forward, adamw(KernelSet::reference));
    fast.step();
    reference.step();
    EXPECT_NEAR(fast.loss(), reference.loss(), 1e-4 * std::fabs(reference.loss()));
    expect_close_arenas(fast.memory.gradients, reference.memory.gradients, fast.program.layouts().parameters,
                        2e-4);
    expect_close_arenas(fast.memory.buffers, reference.memory.buffers, fast.program.layouts().buffers, 1e-5);
  }
}

// The planned, rewritten step equals the plain walk over the graph as it was differentiated.
TEST(Program, GradientsEqualTheInterpreters) {
  for (const auto& [model, spec] : cases()) {
    SCOPED_TRACE(model);
    const std::unique_ptr<Graph> forward = build_model(parse_model(model), spec, kBatch);
    Instance run(*forward, adamw(KernelSet::reference));
    std::unique_ptr<Graph> plain = forward->clone();
    const std::vector<Gradient> gradients = differentiate(*plain, plain->output("loss"));
    Sources sources;
    for (ValueId id = 0; id < plain->value_count(); ++id) {
      const ValueInfo& value = plain->value(id);
      if (value.role == Role::input) sources[id] = input_for(value);
      if (value.role == Role::parameter)
        sources[id] = view_of(run.memory.parameters, run.program.layouts().parameters.at(value.name));
      if (value.role == Role::buffer)
        sources[id] = view_of(run.memory.buffers, run.program.layouts().buffers.at(value.name));
    }
    const std::vector<Tensor> values = evaluate(*plain, sources, KernelSet::reference);
    run.program.training().run(Phase::forward, run.slot, run.memory.bindings());
    run.program.training().run(Phase::backward, run.slot, run.memory.bindings());
    const std::vector<ValueId> parameters = plain->values_of(Role::parameter);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto expected = values[static_cast<std::size_t>(gradients[i].value.id())].values<float>();
      const auto actual =
          view_of(run.memory.gradients, run.program.layouts().parameters.at(plain->value(parameters[i]).name))
              .values<float>();
      for (std::size_t j = 0; j < expected.size(); ++j) {
        ASSERT_NEAR(actual[j], expected[j], 1e-6 + 1e-4 * std::fabs(expected[j]))
            << plain->value(parameters[i]).name << " " << j;
      }
    }
  }
}

TEST(Program, TwoRunsAgreeBitForBit) {
  const std::unique_ptr<Graph> forward =
      build_model(parse_model("lenet,channels=4x8,hidden=16"), images(1, 8), kBatch);
  Instance a(*forward, adamw(KernelSet::fast));
  Instance b(*forward, adamw(KernelSet::fast));
  for (int i = 0; i < 3; ++i) {
    a.step();
    b.step();
  }
  EXPECT_TRUE(std::equal(a.memory.parameters.bytes().begin(), a.memory.parameters.bytes().end(),
                         b.memory.parameters.bytes().begin()));
}

// The weight of a sample decides, not what stands in its row.
TEST(Program, PaddingRowsDoNotCount) {
  const std::unique_ptr<Graph> forward = build_model(parse_model("resnet,depth=8"), images(3, 8), kBatch);
  Instance a(*forward, adamw(KernelSet::fast));
  Instance b(*forward, adamw(KernelSet::fast));
  for (std::size_t i = 0; i < b.inputs.size(); ++i) {
    const ValueInfo& input = b.program.training().graph().value(b.program.training().plan().inputs[i]);
    if (input.name != "image") continue;
    const auto values = b.inputs[i].values<float>();
    std::fill(values.end() - input.type.shape.count(1, 4), values.end(), 100.0F);
  }
  a.step();
  b.step();
  EXPECT_NEAR(a.loss(), b.loss(), 1e-5 * a.loss());
  expect_close_arenas(a.memory.gradients, b.memory.gradients, a.program.layouts().parameters, 1e-5);
}

// Gradients of two micro-batches add up to those of the batch.
TEST(Program, MicroBatchesAddUp) {
  const auto build = [](std::int64_t batch) {
    return build_model(parse_model("mlp,hidden=24x16"), images(1, 6), batch);
  };
  ProgramOptions options = adamw(KernelSet::fast);
  Instance whole(*build(kBatch), options);
  options.micro_batches = 2;
  Instance halves(*build(kBatch / 2), options);
  whole.program.training().run(Phase::forward, whole.slot, whole.memory.bindings());
  whole.program.training().run(Phase::backward, whole.slot, whole.memory.bindings());
  double loss = 0;
  for (const std::size_t half : {0, 1}) {
    for (const std::string_view name : {"image", "label", "weight", "dloss"}) {
      for (std::size_t i = 0; i < whole.inputs.size(); ++i) {
        if (whole.program.training().graph().value(whole.program.training().plan().inputs[i]).name != name)
          continue;
        halves.program.training().bind(
            halves.slot, name,
            whole.inputs[i].bytes().data() + (name == "dloss" ? 0 : half * whole.inputs[i].byte_size() / 2));
      }
    }
    halves.program.training().run(Phase::forward, halves.slot, halves.memory.bindings());
    halves.program.training().run(Phase::backward, halves.slot, halves.memory.bindings());
    loss += halves.loss();
  }
  EXPECT_NEAR(loss, whole.loss(), 1e-5 * whole.loss());
  expect_close_arenas(halves.memory.gradients, whole.memory.gradients, whole.program.layouts().parameters,
                      1e-5);
}

TEST(Program, SlotsKeepTheirOwnActivations) {
  const std::unique_ptr<Graph> forward =
      build_model(parse_model("lenet,channels=4x8,hidden=16"), images(1, 8), kBatch);
  Instance run(*forward, adamw(KernelSet::fast));
  Executable& executable = run.program.training();
  executable.run(Phase::forward, run.slot, run.memory.bindings());
  executable.run(Phase::backward, run.slot, run.memory.bindings());
  const std::vector<std::byte> expected(run.memory.gradients.bytes().begin(),
                                        run.memory.gradients.bytes().end());

  Slot other = executable.make_slot();
  std::vector<Tensor> others;
  for (const ValueId id : executable.graph().values_of(Role::input)) {
    others.push_back(input_for(executable.graph().value(id)));
    if (executable.graph().value(id).name == "image") {
      for (float& x : others.back().values<float>()) x = -x;
    }
    executable.bind(other, executable.graph().value(id).name, others.back().bytes().data());
  }
  executable.run(Phase::forward, run.slot, run.memory.bindings());
  executable.run(Phase::forward, other,
                 run.memory.bindings());  // A second batch between the two phases of the first.
  executable.run(Phase::backward, run.slot, run.memory.bindings());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), run.memory.gradients.bytes().begin()));
}

}  // namespace
}  // namespace hocket
