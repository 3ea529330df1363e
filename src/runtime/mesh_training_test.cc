#include "runtime/mesh_training.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/rng.h"
#include "tensor/box.h"

namespace hocket {
namespace {

constexpr std::int64_t kSamples = 11;  // The last row of the batch is padding.

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
    if (type.dtype == DType::f64) tensor.values<double>()[0] = 1.0 / kSamples;
    if (type.dtype == DType::f32) tensor.values<float>()[0] = 1.0F / kSamples;
  } else if (name == "key") {
    tensor.values<std::int64_t>()[0] = 5;
    tensor.values<std::int64_t>()[1] = step;
  } else if (type.dtype == DType::f32) {
    for (float& x : tensor.values<float>()) x = static_cast<float>(rng.normal());
  } else {
    for (std::int32_t& x : tensor.values<std::int32_t>())
      x = static_cast<std::int32_t>(rng.below(kMeshClasses));
  }
  return tensor;
}

std::vector<std::int32_t> any_order(std::size_t count, int step) {
  std::vector<std::int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  Rng rng{11, static_cast<std::uint64_t>(step)};
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

std::uint64_t bytes_sent(Communicator& communicator) {
  std::uint64_t sum = communicator.overlaps() ? communicator.gradients()->traffic().bytes_sent : 0;
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

}  // namespace

SampleSpec image_samples(std::int64_t channels, std::int64_t size) {
  SampleSpec spec;
  spec.fields = {{"image", DType::f32, {channels, size, size}}, {"label", DType::i32, {}}};
  spec.classes = kMeshClasses;
  return spec;
}

SampleSpec text_samples(std::int64_t context) {
  SampleSpec spec;
  spec.fields = {{"tokens", DType::i32, {context}}, {"label", DType::i32, {context}}};
  spec.target = Target::next_token;
  spec.classes = kMeshClasses;
  return spec;
}

MeshModel named(const std::string& model, const SampleSpec& spec, DType real) {
  return [=](std::int64_t rows) { return build_model(parse_model(model), spec, rows, real); };
}

ProgramOptions reference_options() {
  ProgramOptions options;
  options.optimizer.rule = "adamw";
  options.optimizer.weight_decay = 0.01;
  options.kernels = KernelSet::reference;
  return options;
}

// Trains as one rank of a mesh, or alone, and returns what this rank has of the parameters.
Outcome train_one(const MeshModel& model, ProgramOptions options, int micro, bool repeats, bool late) {
  options.micro_batches = micro;
  const std::int64_t rows = kMeshBatch / micro;
  const std::unique_ptr<Graph> forward = model(rows);
  Program program(*forward, options);
  StepMemory memory(program.layouts(), options.communicator);
  memory.initialize(program, 3);
  Executable& training = program.training();
  HOCKET_CHECK(!late || training.can_update_late(), "this step cannot be late");
  Slot slot = training.make_slot();
  Tensor hyper;  // That of the last update, which may still be under way.
  const AxisShare dp = options.place.mesh.share(options.place.rank, "dp");
  Outcome outcome;
  const std::uint64_t sent_before = options.communicator == nullptr ? 0 : bytes_sent(*options.communicator);
  for (int step = 0; step < kMeshSteps; ++step) {
    outcome.loss = 0;
    if (micro > 1) std::fill(memory.gradients.bytes().begin(), memory.gradients.bytes().end(), std::byte{0});
    std::vector<Tensor> bound;
    Tensor next_hyper;
    for (int part = 0; part < micro; ++part) {
      for (const ValueId id : training.graph().values_of(Role::input)) {
        const ValueInfo& input = training.graph().value(id);
        Type global = input.type;
        const bool is_batch = input.name != "hyper" && input.name != "dloss" && input.name != "key";
        if (is_batch) global.shape[0] = kMeshBatch;
        const Tensor whole = make_input(input.name, global, repeats && is_batch ? 0 : step);
        if (input.name == "hyper") {
          next_hyper = whole;
          if (step == 0 && part == 0) hyper = Tensor(whole.dtype(), whole.shape());
          training.bind(slot, input.name, hyper.bytes().data());
          continue;
        }
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
    std::copy(next_hyper.bytes().begin(), next_hyper.bytes().end(), hyper.bytes().begin());
    late ? training.update_late(slot, memory.bindings())
         : training.run(Phase::update, slot, memory.bindings());
    if (step == 0) outcome.first_loss = outcome.loss;
    if (late) training.exchanges().set_order(any_order(training.exchanges().pieces(), step));
  }
  training.finish_update();
  for (const Piece& piece : program.pieces(Role::parameter)) {
    const Tensor own = view_of(memory.parameters, piece);
    Tensor copy(own.dtype(), own.shape());
    std::copy(own.bytes().begin(), own.bytes().end(), copy.bytes().begin());
    outcome.parameters.emplace(piece.name(), TrainedPart{piece, copy});
  }
  for (const Piece& piece : program.pieces(Role::state)) outcome.states.push_back(piece.name());
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

MeshRun train_on_mesh(const MeshModel& model, const ProgramOptions& base, const MeshCut& cut) {
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
        options.place.factors = cut.factors;
        for (const std::string& text : cut.places)
          options.place.declarations.push_back(Declaration::parse(text));
        run.ranks[static_cast<std::size_t>(groups.rank())] =
            train_one(model, options, cut.micro, cut.repeats, cut.late);
      },
      cut.medium);
  return run;
}

}  // namespace hocket
