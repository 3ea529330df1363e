#include "cli/plan/profile_model.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cli/node_times.h"
#include "data/loader.h"
#include "nn/model.h"
#include "plan/model_layers.h"
#include "runtime/program.h"
#include "tensor/kernels/threads.h"
#include "train/session.h"

namespace hocket {
namespace {

constexpr int kWarmUp = 2;
constexpr int kLeastSteps = 5;
constexpr double kSecondsEach = 0.4;  // For every number of samples.
constexpr int kMostSteps = 200;

// The seconds of one step, by layer.
struct LayerTimes {
  std::vector<double> forward, backward, update;
};

// Steps of one batch of the data, again and again, with a learning rate of 0.
class MeasuredStep {
 public:
  MeasuredStep(const TrainOptions& options, const Dataset& data, std::int64_t samples)
      : forward_(build_model(parse_model(options.model), sample_spec(data.info()), samples)) {
    LoaderOptions loading;
    loading.batch = samples;
    loading.seed = options.seed;
    loader_ = std::make_unique<Loader>(data, loading);
    // As with several micro-batches: gradients add up.
    const ProgramOptions how{
        .optimizer = options.optimizer, .bf16 = options.dtype == "bf16", .micro_batches = 2};
    program_ = std::make_unique<Program>(*forward_, how);
    memory_ = std::make_unique<StepMemory>(program_->layouts());
    memory_->initialize(*program_, options.seed);
    slot_ = executable().make_slot();
    dloss_.values<float>()[0] = 1.0F / static_cast<float>(samples);
    bind_batch(executable(), slot_, data.info(), loader_->next());
    executable().bind(slot_, "dloss", dloss_.bytes().data());
    executable().bind(slot_, "hyper", reinterpret_cast<std::byte*>(&hyper_));
    executable().bind(slot_, "key", reinterpret_cast<std::byte*>(key_));
  }

  Executable& executable() { return program_->training(); }
  const Graph& forward() const { return *forward_; }
  const StepLayouts& layouts() const { return program_->layouts(); }

  std::vector<double> node_seconds() {
    NodeTimes times(executable());
    const TimePoint start = Clock::now();
    for (int step = 0; step < kMostSteps; ++step) {
      if (step == kWarmUp) times.forget();
      if (step >= kWarmUp + kLeastSteps && Clock::now() - start > Seconds(kSecondsEach)) break;
      for (const Phase phase : {Phase::forward, Phase::backward, Phase::update}) {
        times.begin();
        executable().run(phase, slot_, memory_->bindings(), &times.observer());
      }
    }
    return times.seconds();
  }

 private:
  std::unique_ptr<Graph> forward_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<StepMemory> memory_;
  Slot slot_;
  Tensor dloss_{DType::f32, {}};
  Hyper hyper_;
  std::int64_t key_[3] = {0, 0, 0};
};

LayerTimes by_layer(const Graph& step, const std::vector<double>& seconds, const std::vector<int>& layer_of,
                    std::size_t layers) {
  LayerTimes times{std::vector<double>(layers), std::vector<double>(layers), std::vector<double>(layers)};
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!std::isfinite(seconds[i])) continue;
    const auto layer = static_cast<std::size_t>(layer_of[i]);
    switch (step.nodes()[i].phase) {
      case Phase::forward: times.forward[layer] += seconds[i]; break;
      case Phase::backward: times.backward[layer] += seconds[i]; break;
      case Phase::update: times.update[layer] += seconds[i]; break;
    }
  }
  return times;
}

// The largest, and a quarter of the one before twice more.
std::vector<std::int64_t> batches_up_to(std::int64_t most) {
  std::vector<std::int64_t> batches{most};
  while (batches.size() < 3 && batches.back() > 1)
    batches.push_back(std::max<std::int64_t>(1, batches.back() / 4));
  return batches;
}

// What the layers weigh, for one sample where that matters.
ModelProfile weigh(MeasuredStep& step, const std::vector<ModelLayer>& layers,
                   const std::vector<int>& layer_of, double samples) {
  const std::vector<double> kept =
      kept_bytes_of(step.executable().graph(), layer_of, static_cast<int>(layers.size()));
  ModelProfile profile;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerProfile layer{layers[i].name};
    layer.parameter_bytes = layers[i].parameter_bytes;
    layer.output_bytes = layers[i].output_bytes / samples;
    layer.kept_bytes = kept[i] / samples;
    profile.layers.push_back(std::move(layer));
  }
  const auto parameters = static_cast<double>(step.layouts().parameters.bytes());
  if (parameters > 0) {
    profile.copies_of_parameters = 2 + static_cast<double>(step.layouts().state.bytes()) / parameters;
  }
  return profile;
}

}  // namespace

MeasuredModel measure_model(const TrainOptions& options, const Dataset& data, std::int64_t most_samples) {
  MeasuredModel model;
  model.threads = kernel::num_threads();
  model.batches = batches_up_to(most_samples);
  std::vector<std::vector<SampleTiming>> forward, backward;
  for (const std::int64_t samples : model.batches) {
    MeasuredStep step(options, data, samples);
    const std::vector<ModelLayer> layers = layers_of(step.forward());
    const Graph& graph = step.executable().graph();
    const std::vector<int> layer_of = layers_of_step(step.forward(), layers, graph);
    if (forward.empty()) {
      model.profile = weigh(step, layers, layer_of, static_cast<double>(samples));
      forward.resize(layers.size());
      backward.resize(layers.size());
    }
    const LayerTimes times = by_layer(graph, step.node_seconds(), layer_of, layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      forward[i].push_back({samples, Seconds(times.forward[i])});
      backward[i].push_back({samples, Seconds(times.backward[i])});
      model.profile.layers[i].update = Seconds(times.update[i]);
    }
  }
  for (std::size_t i = 0; i < forward.size(); ++i) {
    model.profile.layers[i].forward = fit_sample_cost(forward[i]);
    model.profile.layers[i].backward = fit_sample_cost(backward[i]);
  }
  model.forward = build_model(parse_model(options.model), sample_spec(data.info()), 1);
  return model;
}

}  // namespace hocket
