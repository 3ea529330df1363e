#include "train/session.h"

#include <algorithm>

#include "base/error.h"
#include "data/augment.h"
#include "data/open.h"
#include "data/split.h"
#include "graph/stages.h"
#include "graph/text.h"
#include "tensor/box.h"
#include "tensor/kernels/threads.h"
#include "train/hash.h"
#include "train/pipeline_plan.h"
#include "train/sums.h"

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

// Of gradients that travel while backward goes on: nothing hides the last bucket, so that it should be small,
// but each one costs messages.
std::size_t background_bucket(const Graph& model) {
  const std::size_t bytes = 4 * static_cast<std::size_t>(size_of_model(model).parameters);
  return std::clamp(bytes / 32, std::size_t{1} << 17, std::size_t{1} << 20);
}

// What a checkpoint holds, and what the names start with.
const std::pair<std::string, Role> kTensorKinds[] = {
    {"param/", Role::parameter}, {"buffer/", Role::buffer}, {"optimizer/", Role::state}};

TensorPart part_of(const std::string& prefix, const Piece& piece) {
  const Shard& shard = piece.shard;
  return {prefix + piece.name(), shard.global.dtype, shard.global.shape, shard.begin,
          shard.shape,           piece.first,        piece.count};
}

std::vector<Declaration> declarations_in(std::string_view text) {
  std::vector<Declaration> declarations;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    declarations.push_back(Declaration::parse(item));
  }
  return declarations;
}

// Samples of a micro-batch in one replica.
std::int64_t micro_batch_of(const TrainOptions& options, const Mesh& mesh) {
  return divided_up(divided_up(options.batch, mesh.size_of("dp")), options.micro_batches);
}

}  // namespace

ProgramOptions program_options(const TrainOptions& options, const Graph& model, const Mesh& mesh, int rank,
                               bool overlaps) {
  ProgramOptions program;
  program.optimizer = options.optimizer;
  program.kernels = options.dtype == "f64" ? KernelSet::reference : KernelSet::fast;
  program.bf16 = options.dtype == "bf16";
  const PipelinePlan plan = PipelinePlan::parse(options, mesh);
  program.micro_batches = plan.is_stream() ? 1 : options.micro_batches;
  program.pipeline = {plan.ranks, mesh.share(rank, "pp").index, plan.chunks};
  program.recompute = options.recompute;
  program.zero = options.zero;
  program.compress = Compression::parse(options.compress);
  program.place.mesh = mesh.without("pp");
  program.place.rank = mesh.rank_without(rank, "pp");
  program.place.declarations = declarations_in(options.place);
  program.place.sync_batch_norm = options.sync_batch_norm;
  program.place.factors = options.factors;
  if (options.bucket > 0) {
    program.bucket_bytes = static_cast<std::size_t>(options.bucket);
  } else if (overlaps) {
    program.bucket_bytes = background_bucket(model);
  }
  return program;
}

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

std::unique_ptr<Graph> build_batch_model(const TrainOptions& options, const DataInfo& info,
                                         const Mesh& mesh) {
  const std::int64_t rows = micro_batch_of(options, mesh) * mesh.size_of("dp");
  std::unique_ptr<Graph> model =
      build_model(parse_model(options.model), sample_spec(info), rows, real_dtype(options.dtype));
  for (const ValueId id : model->values_of(Role::input)) {
    const ValueInfo& input = model->value(id);
    if (input.name == "weight" || input.name == "key") continue;
    const Field& field = info.fields[field_index(info, input.name)];
    if (Type{field.dtype, batch_shape(field, rows)} == input.type) continue;
    throw ConfigError("model {} reads {} as {}; the data has {}", options.model, input.name,
                      to_string(input.type), to_string(Type{field.dtype, batch_shape(field, rows)}));
  }
  assign_stages(*model, PipelinePlan::parse(options, mesh).stages(), options.stages);
  return model;
}

Session::Session(const TrainOptions& options, const DataInfo& info, Team& team)
    : team_(team),
      micro_batch_(micro_batch_of(options, team.mesh())),
      model_(build_batch_model(options, info, team.mesh())) {
  Communicator* communicator = team.communicator();
  const bool overlaps = communicator != nullptr && communicator->overlaps();
  ProgramOptions program = program_options(options, *model_, team.mesh(), team.rank(), overlaps);
  program.communicator = communicator;
  program_ = std::make_unique<Program>(*model_, program);
  memory_ = std::make_unique<StepMemory>(program_->layouts(), communicator);
  memory_->initialize(*program_, options.seed);
  if (!program_->copies().empty() &&
      (options.zero == 3 || PipelinePlan::parse(options, team.mesh()).is_stream())) {
    throw ConfigError("parameter {} is of several stages, which goes neither with pipedream nor with zero 3",
                      program_->copies()[0].name);
  }
  make_copies();
}

Session::Session(const TrainOptions& options, const DataInfo& info, Team& team,
                 const StepMemory::Allocate& allocate, bool accumulates)
    : team_(team),
      micro_batch_(micro_batch_of(options, team.mesh())),
      model_(build_batch_model(options, info, team.mesh())) {
  ProgramOptions program = program_options(options, *model_, team.mesh(), team.rank(), false);
  program.communicator = team.communicator();
  program.updates = false;
  if (accumulates) program.micro_batches = std::max(2, program.micro_batches);
  program_ = std::make_unique<Program>(*model_, program);
  memory_ = std::make_unique<StepMemory>(program_->layouts(), allocate);
  memory_->initialize(*program_, options.seed);
}

// Norms are of whole sums.
void Session::share_weights(const TrainOptions& options) {
  if (program_->training().can_have_common_weights() && !options.gradient_norms &&
      plan_sums(options, team_).is_direct())
    memory_->share(*team_.communicator()->gradients());
}

std::int64_t Session::parameter_count() const { return size_of_model(*model_).parameters; }

const Arena& Session::arena_of(Role role) const {
  if (role == Role::parameter) return memory_->parameters;
  return role == Role::buffer ? memory_->buffers : memory_->state;
}

void Session::make_copies() {
  const int stage = team_.share("pp").index;
  for (const ParameterCopy& copy : program_->copies()) {
    if (std::find(copy.readers.begin(), copy.readers.end(), stage) != copy.readers.end())
      copies_.emplace(copy.name, Tensor(copy.type.dtype, copy.type.shape));
  }
}

void Session::bind_copies(Executable& executable, Slot& slot) const {
  for (const auto& [name, tensor] : copies_) executable.bind(slot, name, tensor.bytes().data());
}

void Session::refresh_copies() {
  const int stage = team_.share("pp").index;
  for (const ParameterCopy& copy : program_->copies()) {
    Communicator& communicator = *team_.communicator();
    if (const auto own = copies_.find(copy.name); own != copies_.end()) {
      StageLinks::Message message = communicator.links().receive(copy.owner, 0, own->second.bytes());
      communicator.wait(message);
    }
    if (stage != copy.owner) continue;
    const Tensor values = view_of(memory_->parameters, program_->layouts().parameters.at(copy.name));
    for (const int reader : copy.readers) {
      StageLinks::Message message = communicator.links().send(reader, 0, values.bytes());
      communicator.wait(message);
    }
  }
}

bool Session::is_owner(const Piece& piece) const {
  const std::vector<Mesh::Axis> axes = team_.mesh().without("pp").axes();
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const bool is_cut = std::holds_alternative<Sharded>(piece.shard.placements[axis]) ||
                        (piece.is_slice && axes[axis].name == "dp");
    if (!is_cut && team_.share(axes[axis].name).index != 0) return false;
  }
  return true;
}

// Every byte comes from one rank, and is 0 on the others: their sum is the tensor to the bit.
Tensor Session::whole(const Piece& piece, const Arena& arena) const {
  const Tensor own = view_of(arena, piece);
  const bool is_cut = piece.is_slice || !piece.shard.is_whole() || team_.mesh().size_of("pp") > 1;
  if (!is_cut) return own;
  Tensor whole(piece.shard.global.dtype, piece.shard.global.shape);
  std::fill(whole.bytes().begin(), whole.bytes().end(), std::byte{0});
  if (is_owner(piece)) {
    Tensor part(whole.dtype(), piece.shard.shape);
    std::fill(part.bytes().begin(), part.bytes().end(), std::byte{0});
    const auto first =
        static_cast<std::ptrdiff_t>(piece.first) * static_cast<std::ptrdiff_t>(size_of(whole.dtype()));
    std::copy(own.bytes().begin(), own.bytes().end(), part.bytes().begin() + first);
    copy_to_box(part, whole, piece.shard.begin);
  }
  team_.sum_bytes(whole.bytes());
  return whole;
}

// As the ranks have it that train it.
Tensor Session::whole(const ValueInfo& parameter) const {
  for (const Piece& piece : program_->pieces(Role::parameter)) {
    if (piece.name() == parameter.name) return whole(piece, memory_->parameters);
  }
  Tensor nothing(parameter.type.dtype, parameter.type.shape);
  std::fill(nothing.bytes().begin(), nothing.bytes().end(), std::byte{0});
  team_.sum_bytes(nothing.bytes());
  return nothing;
}

Checkpoint Session::checkpoint() const {
  Checkpoint checkpoint;
  for (const auto& [prefix, role] : kTensorKinds) {
    for (const Piece& piece : program_->pieces(role)) {
      const bool has_any = piece.count > 0 || piece.is_whole();
      if (!has_any || !is_owner(piece)) continue;
      checkpoint.parts.push_back({part_of(prefix, piece), view_of(arena_of(role), piece)});
    }
  }
  const std::string text = print_text(*model_);
  checkpoint.model = hash_bytes(std::as_bytes(std::span(text)));
  return checkpoint;
}

void Session::restore(const CheckpointReader& checkpoint, bool with_optimizer, const std::string& prefix) {
  std::vector<TensorSpec> expected;
  for (const ValueId id : model_->values_of(Role::parameter)) {
    const ValueInfo& parameter = model_->value(id);
    expected.push_back({parameter.name, parameter.type.dtype, parameter.type.shape});
  }
  require_same_parameters(checkpoint.tensors(), expected);
  for (const auto& [kind, role] : kTensorKinds) {
    if (role == Role::state && !with_optimizer) continue;
    for (const Piece& piece : program_->pieces(role)) {
      const TensorPart part = part_of(prefix + kind, piece);
      if (!checkpoint.has({part.name, part.dtype, part.global})) {
        throw ConfigError("the checkpoint has no {} that fits; it was made with another optimizer or model",
                          part.name);
      }
      checkpoint.read(part, view_of(arena_of(role), piece).bytes());
    }
  }
}

std::string Session::hash() const {
  std::vector<const ValueInfo*> sorted;
  for (const ValueId id : model_->values_of(Role::parameter)) sorted.push_back(&model_->value(id));
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  ParameterHasher hasher;
  for (const ValueInfo* parameter : sorted) hasher.update(parameter->name, whole(*parameter));
  return hasher.digest();
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
