#include "cli/bench/step_loop.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/nearest.h"
#include "base/rng.h"
#include "graph/operator.h"

namespace hocket {
namespace {

constexpr std::uint64_t kSeed = 1;

StepSetup image_setup(std::string name, std::int64_t channels, std::int64_t size, std::int64_t batch,
                      std::int64_t preloaded) {
  StepSetup setup;
  setup.name = std::move(name);
  setup.sample.fields = {{"image", DType::f32, {channels, size, size}}, {"label", DType::i32, {}}};
  setup.sample.classes = 10;
  setup.batch = batch;
  setup.preloaded = preloaded;
  setup.optimizer = "momentum";
  return setup;
}

StepSetup text_setup(std::string name, std::int64_t context, std::int64_t batch, std::int64_t preloaded) {
  StepSetup setup;
  setup.name = std::move(name);
  setup.sample.fields = {{"tokens", DType::i32, {context}}, {"label", DType::i32, {context}}};
  setup.sample.target = Target::next_token;
  setup.sample.classes = 256;
  setup.batch = batch;
  setup.preloaded = preloaded;
  setup.optimizer = "adamw";
  setup.items_per_sample = context;
  return setup;
}

std::vector<Type> types_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<Type> types;
  types.reserve(ids.size());
  for (const ValueId id : ids) types.push_back(graph.value(id).type);
  return types;
}

Shape with_rows(std::int64_t rows, const Shape& shape) {
  std::vector<std::int64_t> dims{rows};
  dims.insert(dims.end(), shape.begin(), shape.end());
  return Shape(dims);
}

}  // namespace

std::vector<StepSetup> step_setups() {
  return {image_setup("mlp", 1, 28, 128, 8192), image_setup("lenet", 1, 28, 128, 8192),
          image_setup("resnet20", 3, 32, 64, 2048), text_setup("gpt", 128, 16, 2048)};
}

const StepSetup& find_step_setup(std::span<const StepSetup> setups, std::string_view name) {
  std::vector<std::string_view> names;
  for (const StepSetup& setup : setups) {
    if (setup.name == name) return setup;
    names.push_back(setup.name);
  }
  throw ConfigError("bench step: no model {} to measure{}; there are {}", name, did_you_mean(name, names),
                    fmt::join(names, ", "));
}

double training_flops(const Graph& forward) {
  std::vector<bool> is_trained(static_cast<std::size_t>(forward.value_count()), false);
  for (const ValueId id : forward.values_of(Role::parameter)) is_trained[static_cast<std::size_t>(id)] = true;
  double flops = 0;
  for (const Node& node : forward.nodes()) {
    const auto depends = [&](ValueId id) { return is_trained[static_cast<std::size_t>(id)]; };
    if (std::any_of(node.inputs.begin(), node.inputs.end(), depends)) {
      for (const ValueId id : node.outputs) is_trained[static_cast<std::size_t>(id)] = true;
    }
    const std::string_view op = node.op->name();
    if (op != "matmul" && op != "conv2d" && op != "attention") continue;
    const double once = node.op->flops(node, types_of(forward, node.inputs), types_of(forward, node.outputs));
    flops += once * (depends(node.inputs[0]) ? 3 : 2);
  }
  return flops;
}

StepLoop::StepLoop(const StepSetup& setup, Communicator* communicator)
    : setup_(setup),
      optimizer_{.rule = setup.optimizer},
      weight_(DType::f32, {setup.batch}),
      loss_share_(DType::f32, {}) {
  ProgramOptions options{.optimizer = optimizer_, .communicator = communicator};
  if (communicator != nullptr) {
    options.place.mesh = communicator->groups().mesh();
    options.place.rank = communicator->groups().rank();
    share_ = communicator->groups().share("dp");
  }
  const std::unique_ptr<Graph> forward =
      build_model(parse_model(setup.name), setup.sample, setup.batch * share_.count);
  flops_ = training_flops(*forward) / share_.count;
  program_ = std::make_unique<Program>(*forward, options);
  memory_ = std::make_unique<StepMemory>(program_->layouts(), communicator);
  memory_->initialize(*program_, kSeed);
  if (program_->training().can_have_common_weights()) memory_->share(*communicator->gradients());
  slot_ = program_->training().make_slot();
  for (const SampleField& field : setup.sample.fields) add_column(field, setup.sample.classes);
  bind_inputs();
}

void StepLoop::add_column(const SampleField& field, std::int64_t classes) {
  Column column{Tensor(field.dtype, with_rows(setup_.preloaded, field.shape)),
                Tensor(field.dtype, with_rows(setup_.batch, field.shape))};
  Rng rng{kSeed, columns_.size(), static_cast<std::uint64_t>(share_.index)};
  if (field.dtype == DType::f32) {
    for (float& x : column.samples.values<float>()) x = static_cast<float>(rng.uniform(-1.7, 1.7));
  } else {
    const auto bound = static_cast<std::uint64_t>(classes);
    for (std::int32_t& x : column.samples.values<std::int32_t>())
      x = static_cast<std::int32_t>(rng.below(bound));
  }
  columns_.push_back(std::move(column));
}

void StepLoop::bind_inputs() {
  Executable& training = program_->training();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    training.bind(slot_, setup_.sample.fields[i].name, columns_[i].batch.bytes().data());
  }
  std::fill(weight_.values<float>().begin(), weight_.values<float>().end(), 1.0F);
  loss_share_.values<float>()[0] = 1.0F / static_cast<float>(setup_.batch * share_.count);
  training.bind(slot_, "weight", weight_.bytes().data());
  training.bind(slot_, "dloss", loss_share_.bytes().data());
  training.bind(slot_, "hyper", reinterpret_cast<std::byte*>(&hyper_));
}

void StepLoop::draw_batch() {
  Rng rng{kSeed, static_cast<std::uint64_t>(steps_), static_cast<std::uint64_t>(share_.index)};
  for (std::int64_t row = 0; row < setup_.batch; ++row) {
    const std::uint64_t chosen = rng.below(static_cast<std::uint64_t>(setup_.preloaded));
    for (const Column& column : columns_) {
      const std::size_t bytes = column.batch.byte_size() / static_cast<std::size_t>(setup_.batch);
      std::memcpy(column.batch.bytes().data() + static_cast<std::size_t>(row) * bytes,
                  column.samples.bytes().data() + chosen * bytes, bytes);
    }
  }
}

void StepLoop::step(const Executable::Observer* observer) {
  draw_batch();
  hyper_ = hyper_at(optimizer_, setup_.optimizer == "adamw" ? 3e-4 : 0.05, steps_++);
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::update}) {
    program_->training().run(phase, slot_, memory_->bindings(), observer);
  }
}

double StepLoop::run(int steps) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) step();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace hocket
