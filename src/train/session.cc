#include "train/session.h"

#include <algorithm>

#include "base/error.h"
#include "data/augment.h"
#include "data/open.h"
#include "data/split.h"
#include "graph/text.h"
#include "tensor/kernels/threads.h"
#include "train/hash.h"

namespace hocket {
namespace {

Target target_of(Task task) {
  switch (task) {
    case Task::classification: return Target::classes;
    case Task::language: return Target::next_token;
    case Task::binary: return Target::binary;
    case Task::regression: break;
  }
  return Target::real;
}

std::int64_t divided_up(std::int64_t whole, std::int64_t parts) { return (whole + parts - 1) / parts; }

DType real_dtype(const std::string& name) {
  if (name == "f32" || name == "bf16") return DType::f32;
  if (name == "f64") return DType::f64;
  throw ConfigError("dtype {} is not f32, bf16 or f64", name);
}

// The L2 penalty of liblinear's C over the sum of losses, for a mean of losses: 1/(C·n).
double decay_of(const TrainOptions& options, std::int64_t samples) {
  for (const auto& [key, value] : parse_model(options.model).options) {
    if (key != "c") continue;
    const double c = SpecOptions("model", {options.model, {{key, value}}}, {{"c", "0"}}).real("c");
    if (c > 0) return 1 / (c * static_cast<double>(samples));
  }
  return options.optimizer.weight_decay;
}

}  // namespace

SampleSpec sample_spec(const DataInfo& info) {
  SampleSpec spec;
  for (const Field& field : info.fields) spec.fields.push_back({field.name, field.dtype, field.shape});
  spec.target = target_of(info.task);
  spec.classes = info.classes;
  spec.features = info.features;
  spec.max_nonzeros = info.max_nonzeros;
  return spec;
}

TrainOptions with_defaults(TrainOptions options, const DataInfo& info) {
  const std::string model = parse_model(options.model).name;
  const bool adaptive = model == "gpt" || model == "deepfm";
  if (options.optimizer.rule.empty()) options.optimizer.rule = adaptive ? "adamw" : "momentum";
  if (options.batch == 0) options.batch = info.task == Task::language ? 16 : 128;
  options.batch = std::min(options.batch, info.size);
  if (options.learning_rate == 0) options.learning_rate = default_learning_rate(options.optimizer.rule);
  const std::int64_t steps_per_epoch = (info.size + options.batch - 1) / options.batch;
  if (options.epochs == 0 && options.steps == 0) options.epochs = 1;
  if (options.steps == 0) options.steps = options.epochs * steps_per_epoch;
  if (options.epochs == 0) options.epochs = (options.steps + steps_per_epoch - 1) / steps_per_epoch;
  options.steps = std::min(options.steps, options.epochs * steps_per_epoch);
  if (options.log_every == 0) options.log_every = std::clamp<std::int64_t>(options.steps / 100, 1, 50);
  options.optimizer.weight_decay = decay_of(options, info.size);
  if (options.lr_rule == "linear") {
    options.learning_rate *= static_cast<double>(options.batch) / static_cast<double>(options.lr_base_batch);
  } else if (options.lr_rule != "none") {
    throw ConfigError("learning-rate rule {} is not linear or none", options.lr_rule);
  }
  return options;
}

SessionData open_session_data(const TrainOptions& options) {
  SessionData data;
  data.parts = open_dataset({options.data, options.test_data});
  data.train = data.parts.train.get();
  data.held_out = data.parts.test.get();
  if (options.folds > 0 || options.validation > 0) {
    Split split = options.folds > 0 ? fold(*data.train, options.folds, options.fold, options.seed)
                                    : split_validation(*data.train, options.validation, options.seed);
    data.train = data.views.emplace_back(std::move(split.train)).get();
    data.held_out = data.views.emplace_back(std::move(split.held_out)).get();
  }
  const std::int64_t epochs = with_defaults(options, data.train->info()).epochs;
  const AugmentOptions augment = parse_augment(options.augment, epochs, options.seed);
  if (!augment.is_none()) {
    data.train = data.views.emplace_back(std::make_unique<AugmentedDataset>(*data.train, augment)).get();
  }
  return data;
}

Session::Session(const TrainOptions& options, const DataInfo& info, int replicas)
    : micro_batch_(divided_up(divided_up(options.batch, replicas), options.micro_batches)) {
  model_ =
      build_model(parse_model(options.model), sample_spec(info), micro_batch_, real_dtype(options.dtype));
  for (const ValueId id : model_->values_of(Role::input)) {
    const ValueInfo& input = model_->value(id);
    if (input.name == "weight" || input.name == "key") continue;
    const Field& field = info.fields[field_index(info, input.name)];
    if (Type{field.dtype, batch_shape(field, micro_batch_)} == input.type) continue;
    throw ConfigError("model {} reads {} as {}; the data has {}", options.model, input.name,
                      to_string(input.type), to_string(Type{field.dtype, batch_shape(field, micro_batch_)}));
  }
  ProgramOptions program;
  program.optimizer = options.optimizer;
  program.kernels = options.dtype == "f64" ? KernelSet::reference : KernelSet::fast;
  program.bf16 = options.dtype == "bf16";
  program.micro_batches = options.micro_batches;
  program_ = std::make_unique<Program>(*model_, program);
  memory_ = std::make_unique<StepMemory>(program_->layouts());
  memory_->initialize(*program_, options.seed);
}

std::int64_t Session::parameter_count() const { return size_of_model(*model_).parameters; }

std::vector<NamedTensor> Session::tensors_of(const std::string& prefix, const Arena& arena,
                                             const ArenaLayout& layout) const {
  std::vector<NamedTensor> tensors;
  for (const ArenaLayout::Entry& entry : layout.entries())
    tensors.emplace_back(prefix + entry.name, view_of(arena, entry));
  return tensors;
}

Checkpoint Session::checkpoint() const {
  Checkpoint checkpoint;
  const StepLayouts& layouts = program_->layouts();
  const auto append = [&](std::vector<NamedTensor> more) {
    checkpoint.tensors.insert(checkpoint.tensors.end(), more.begin(), more.end());
  };
  append(tensors_of("param/", memory_->parameters, layouts.parameters));
  append(tensors_of("buffer/", memory_->buffers, layouts.buffers));
  append(tensors_of("optimizer/", memory_->state, layouts.state));
  const std::string text = print_text(*model_);
  checkpoint.model = hash_bytes(std::as_bytes(std::span(text)));
  return checkpoint;
}

void Session::restore(const Checkpoint& checkpoint, bool with_optimizer) {
  const StepLayouts& layouts = program_->layouts();
  std::vector<ParameterSpec> expected;
  for (const ArenaLayout::Entry& entry : layouts.parameters.entries()) {
    expected.push_back({entry.name, entry.type.dtype, entry.type.shape});
  }
  require_same_parameters(checkpoint, expected);
  const auto copy = [&](const std::string& prefix, const Arena& arena, const ArenaLayout& layout) {
    for (const auto& [name, target] : tensors_of(prefix, arena, layout)) {
      const auto at =
          std::find_if(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                       [&, wanted = name](const NamedTensor& tensor) { return tensor.first == wanted; });
      if (at == checkpoint.tensors.end() || at->second.byte_size() != target.byte_size()) {
        throw ConfigError("the checkpoint has no {} that fits; it was made with another optimizer or model",
                          name);
      }
      std::copy(at->second.bytes().begin(), at->second.bytes().end(), target.bytes().begin());
    }
  };
  copy("param/", memory_->parameters, layouts.parameters);
  copy("buffer/", memory_->buffers, layouts.buffers);
  if (with_optimizer) copy("optimizer/", memory_->state, layouts.state);
}

std::string Session::hash() const {
  return parameter_hash(tensors_of("", memory_->parameters, program_->layouts().parameters));
}

void bind_batch(Executable& executable, Slot& slot, const DataInfo& info, const Batch& batch,
                std::int64_t first) {
  for (std::size_t i = 0; i < info.fields.size(); ++i) {
    const Tensor& tensor = batch.fields[i];
    std::size_t offset = 0;
    if (first > 0)
      offset =
          tensor.byte_size() / static_cast<std::size_t>(tensor.shape()[0]) * static_cast<std::size_t>(first);
    executable.bind(slot, info.fields[i].name, tensor.bytes().data() + offset);
  }
  executable.bind(slot, "weight",
                  batch.weight.bytes().data() + static_cast<std::size_t>(first) * sizeof(float));
}

double scalar_output(const Executable& executable, const Slot& slot, std::string_view name) {
  const Tensor tensor = executable.output(slot, name);
  if (tensor.bytes().data() == nullptr) return 0;
  return tensor.dtype() == DType::f64 ? tensor.values<double>()[0]
                                      : static_cast<double>(tensor.values<float>()[0]);
}

}  // namespace hocket
