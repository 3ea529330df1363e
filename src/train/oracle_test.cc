// Losses and gradients of the dense models against PyTorch's, which tests/oracle/make_oracle.py wrote.
// Weights and batches come from the same pattern on both sides.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/rng.h"
#include "nn/model.h"
#include "runtime/program.h"
#include "train/file_system.h"
#include "train/safetensors.h"

namespace hocket {
namespace {

std::uint64_t stream_of(std::string_view name) {
  std::uint64_t stream = 0;
  for (const char c : name) stream = mix_bits(stream ^ static_cast<unsigned char>(c));
  return stream;
}

// Element `i` of the pattern called `name`: in [-1, 1), exact in f32.
double pattern(std::uint64_t stream, std::size_t i) {
  return (static_cast<double>(mix_bits(stream + i) >> 48) - 32768) / 32768;
}

double weight_scale(const Shape& shape) {
  double scale = 1;
  while (scale * scale * static_cast<double>(shape.count(1, shape.rank())) > 3) scale /= 2;
  return scale;
}

template <typename T>
void fill_parameter(const std::string& name, const Tensor& out) {
  const std::uint64_t stream = stream_of(name);
  const bool is_matrix = out.shape().rank() >= 2;
  const bool is_scale = !is_matrix && name.ends_with("weight");
  const double factor = is_matrix ? weight_scale(out.shape()) : is_scale ? 0.25 : 0.125;
  const std::span<T> values = out.values<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>((is_scale ? 1 : 0) + factor * pattern(stream, i));
  }
}

// One file of the oracle.
struct Oracle {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;
  SampleSpec sample;
  std::int64_t samples = 0;

  const std::string& text(const std::string& key) const { return metadata.at(key); }
  std::int64_t integer(const std::string& key) const { return std::stoll(metadata.at(key)); }
};

Shape shape_of(const std::string& text) {
  std::vector<std::int64_t> dims;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, 'x');) dims.push_back(std::stoll(part));
  return Shape(dims);
}

Oracle read_oracle(const std::string& name) {
  const auto path = std::filesystem::path(HOCKET_ORACLE_DIR) / (name + ".safetensors");
  Safetensors file = parse_safetensors(posix_file_system().read(path), path.string());
  Oracle oracle;
  oracle.metadata = file.metadata;
  for (const auto& [key, tensor] : file.tensors) oracle.tensors[key] = tensor;
  const bool is_text = oracle.text("field") == "tokens";
  const Shape shape = shape_of(oracle.text("shape"));
  oracle.sample.fields = {{oracle.text("field"), is_text ? DType::i32 : DType::f32, shape},
                          {"label", DType::i32, is_text ? shape : Shape()}};
  oracle.sample.target = is_text ? Target::next_token : Target::classes;
  oracle.sample.classes = oracle.integer("classes");
  oracle.samples = oracle.integer("samples");
  return oracle;
}

// Sets the first `oracle.samples` rows of an input; those beyond keep zeros and have no weight.
void fill_input(const ValueInfo& input, const Oracle& oracle, const Tensor& out) {
  const auto real_part = static_cast<std::size_t>(out.count() / out.shape()[0] * oracle.samples);
  if (out.dtype() == DType::i32) {
    const std::uint64_t stream = stream_of(input.name);
    for (std::size_t i = 0; i < real_part; ++i) {
      const std::uint64_t bits = mix_bits(stream + i) >> 33;
      out.values<std::int32_t>()[i] =
          static_cast<std::int32_t>(bits % static_cast<std::uint64_t>(oracle.sample.classes));
    }
    return;
  }
  const std::uint64_t stream = stream_of("input");
  for (std::size_t i = 0; i < real_part; ++i) {
    out.values<float>()[i] = input.name == "weight" ? 1.0F : static_cast<float>(pattern(stream, i));
  }
}

double value_at(const Tensor& tensor, std::size_t i) {
  return tensor.dtype() == DType::f64 ? tensor.values<double>()[i]
                                      : static_cast<double>(tensor.values<float>()[i]);
}

double norm(const Tensor& tensor) {
  double sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.count()); ++i)
    sum += std::pow(value_at(tensor, i), 2);
  return std::sqrt(sum);
}

// A model with the oracle's weights and batch, and room for `spare` more samples.
class Replay {
 public:
  Replay(const Oracle& oracle, KernelSet kernels, DType real, std::int64_t spare)
      : oracle_(oracle),
        optimizer_{.rule = oracle.text("optimizer")},
        program_(*build_model(parse_model(oracle.text("model")), oracle.sample, oracle.samples + spare, real),
                 {.optimizer = optimizer_, .kernels = kernels}),
        memory_(program_.layouts()),
        slot_(program_.training().make_slot()) {
    memory_.initialize(program_, 1);
    for (const ArenaLayout::Entry& entry : program_.layouts().parameters.entries()) {
      const Tensor parameter = view_of(memory_.parameters, entry);
      real == DType::f64 ? fill_parameter<double>(entry.name, parameter)
                         : fill_parameter<float>(entry.name, parameter);
    }
    bind_inputs();
  }

  void run(Phase phase) { program_.training().run(phase, slot_, memory_.bindings()); }
  void update(int step) {
    const Hyper hyper = hyper_at(optimizer_, std::stod(oracle_.text("learning_rate")), step);
    hyper_.values<double>()[0] = hyper.learning_rate;
    hyper_.values<double>()[1] = hyper.bias_correction1;
    hyper_.values<double>()[2] = hyper.bias_correction2;
    hyper_.values<double>()[3] = hyper.divisor;
    run(Phase::update);
  }

  double mean_loss() const {
    return value_at(program_.training().output(slot_, "loss"), 0) / static_cast<double>(oracle_.samples);
  }
  Tensor gradient(const std::string& name) const {
    return view_of(memory_.gradients, program_.layouts().parameters.at(name));
  }
  Tensor buffer(const std::string& name) const {
    return view_of(memory_.buffers, program_.layouts().buffers.at(name));
  }
  std::size_t parameter_count() const { return program_.layouts().parameters.entries().size(); }

 private:
  void bind_inputs() {
    const Graph& graph = program_.training().graph();
    for (const ValueId id : graph.values_of(Role::input)) {
      const ValueInfo& input = graph.value(id);
      const Tensor tensor(input.type.dtype, input.type.shape);
      if (input.name == "hyper") {
        hyper_ = tensor;
      } else if (input.name == "dloss") {
        const double share = 1.0 / static_cast<double>(oracle_.samples);
        if (tensor.dtype() == DType::f64) tensor.values<double>()[0] = share;
        if (tensor.dtype() == DType::f32) tensor.values<float>()[0] = static_cast<float>(share);
      } else {
        fill_input(input, oracle_, tensor);
      }
      program_.training().bind(slot_, input.name, tensor.bytes().data());
      inputs_.push_back(tensor);
    }
  }

  const Oracle& oracle_;
  OptimizerSpec optimizer_;
  mutable Program program_;
  StepMemory memory_;
  Slot slot_;
  std::vector<Tensor> inputs_;
  Tensor hyper_;
};

// Every stored element lies within `tolerance` of the largest one.
void expect_close(const std::string& what, const Tensor& ours, const Tensor& stored, double tolerance) {
  const auto kept = static_cast<std::size_t>(stored.count());
  const std::size_t stride = static_cast<std::size_t>(ours.count()) / kept;
  double largest = 0;
  double worst = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    largest = std::max(largest, std::abs(value_at(stored, i)));
    worst = std::max(worst, std::abs(value_at(stored, i) - value_at(ours, i * stride)));
  }
  EXPECT_LE(worst, tolerance * largest) << what;
}

void expect_first_gradients(const Replay& replay, const Oracle& oracle, double tolerance) {
  std::istringstream names(oracle.text("parameters"));
  std::size_t count = 0;
  for (std::string name; names >> name; ++count) {
    const Tensor ours = replay.gradient(name);
    const double expected = value_at(oracle.tensors.at("norms"), count);
    EXPECT_NEAR(norm(ours), expected, tolerance * expected) << "norm of the gradient of " << name;
    expect_close("gradient of " + name, ours, oracle.tensors.at("gradient/" + name), tolerance);
  }
  EXPECT_EQ(count, replay.parameter_count());
  for (const auto& [name, tensor] : oracle.tensors) {
    if (name.starts_with("buffer/")) expect_close(name, replay.buffer(name.substr(7)), tensor, tolerance);
  }
}

// Loss and gradients of the first step, and the losses of a few more, so that the optimizer is compared too:
// there, what was rounded otherwise has grown.
void expect_match(const std::string& name, KernelSet kernels, DType real, std::int64_t spare,
                  double tolerance) {
  SCOPED_TRACE(name);
  const Oracle oracle = read_oracle(name);
  Replay replay(oracle, kernels, real, spare);
  const Tensor& losses = oracle.tensors.at("losses");
  for (int step = 0; step < losses.count(); ++step) {
    replay.run(Phase::forward);
    const double expected = value_at(losses, static_cast<std::size_t>(step));
    const double apart = (step == 0 ? 1 : 10) * tolerance * expected;
    EXPECT_NEAR(replay.mean_loss(), expected, apart) << "loss of step " << step;
    replay.run(Phase::backward);
    if (step == 0) expect_first_gradients(replay, oracle, tolerance);
    replay.update(step);
  }
}

const std::vector<std::string> kSmall{"mlp_small", "lenet_small", "resnet_small", "gpt_small"};
const std::vector<std::string> kFull{"mlp", "lenet", "resnet20", "gpt"};

TEST(Oracle, SmallModelsMatchPyTorchInF64) {
  for (const std::string& name : kSmall) expect_match(name, KernelSet::reference, DType::f64, 0, 1e-6);
}

TEST(Oracle, SmallModelsMatchPyTorch) {
  for (const std::string& name : kSmall) expect_match(name, KernelSet::fast, DType::f32, 0, 1e-4);
}

TEST(Oracle, PaddingTheBatchChangesNothing) {
  for (const std::string& name : kSmall) expect_match(name, KernelSet::fast, DType::f32, 3, 1e-4);
}

TEST(Oracle, FullModelsMatchPyTorch) {
  for (const std::string& name : kFull) expect_match(name, KernelSet::fast, DType::f32, 0, 1e-4);
}

}  // namespace
}  // namespace hocket
