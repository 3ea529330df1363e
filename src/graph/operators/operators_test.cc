// One table says what every operator accepts; the tests below hold each row against inference, gradients,
// placements and the operators page.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "base/error.h"
#include "graph/operators/operands.h"
#include "graph/text_cursor.h"

namespace hocket {
namespace {

struct Sample {
  std::string_view op;
  std::string_view inputs;      // Types, separated by blanks.
  std::string_view attributes;  // As in a model file.
  std::string_view outputs;
};

constexpr Sample kSamples[] = {
    {"matmul", "f32[4,6] f32[6,10]", "", "f32[4,10]"},
    {"matmul", "f32[6,4] f32[10,6] f32[10]", "ta=1 tb=1 act=relu", "f32[4,10]"},
    {"matmul", "f32[2,4,6] f32[10,6] f32[10]", "tb=1", "f32[2,4,10]"},
    {"matmul", "f64[2,14,4,6] f64[2,14,6,10]", "", "f64[2,14,4,10]"},
    {"matmul", "f64[2,6,4] f64[2,10,6]", "ta=1 tb=1", "f64[2,4,10]"},
    {"matmul", "bf16[4,6] bf16[6,10] f32[10]", "", "f32[4,10]"},
    {"matmul_dw", "f32[2,4,6] f32[2,4,10]", "", "f32[6,10]"},
    {"matmul_dw", "f32[4,6] f32[4,10]", "tb=1", "f32[10,6]"},
    {"conv2d", "f32[2,4,9,8] f32[6,4,3,3] f32[6]", "padding=1 stride=2 act=relu", "f32[2,6,5,4]"},
    {"conv2d", "f64[2,4,9,8] f64[6,2,1,1]", "groups=2", "f64[2,6,9,8]"},
    {"conv2d", "bf16[2,4,9,8] bf16[6,4,3,3]", "", "f32[2,6,7,6]"},
    {"conv2d_dx", "f32[2,6,5,4] f32[6,4,3,3]", "padding=1 stride=2 height=9 width=8", "f32[2,4,9,8]"},
    {"conv2d_dw", "f32[2,6,5,4] f32[2,4,9,8]", "padding=1 stride=2 kernel=[3,3]", "f32[6,4,3,3] f32[6]"},
    {"conv2d_dw", "f32[2,6,5,4] f32[2,4,9,8]", "padding=1 stride=2 kernel=[3,3] bias=0", "f32[6,4,3,3]"},
    {"conv2d", "f32[2,4,8,6] f32[6,4,3,3] f32[6]", "padding=1 pool=2", "f32[2,6,4,3] u8[2,6,4,3]"},
    {"conv2d_dx", "f32[2,6,4,3] f32[6,4,3,3] u8[2,6,4,3]", "padding=1 pool=2 height=8 width=6",
     "f32[2,4,8,6]"},
    {"conv2d_dw", "f32[2,6,4,3] f32[2,4,8,6] u8[2,6,4,3]", "padding=1 pool=2 kernel=[3,3]",
     "f32[6,4,3,3] f32[6]"},
    {"csr_matmul", "f32[20] i32[20] i32[5] f32[100,3]", "", "f32[4,3]"},
    {"csr_matmul_dw", "f32[4,3] f32[20] i32[20] i32[5]", "features=100", "f32[100,3]"},
    {"csr_matmul_dw_rows", "f32[4,3] f32[20] i32[20] i32[5]", "", "f32[20,3] i32[20]"},
    {"sgd_csr", "f32[100,3] f32[4,3] f32[20] i32[20] i32[5] f64[4]", "", ""},
    {"adagrad_csr", "f32[100,3] f32[4,3] f32[20] i32[20] i32[5] f64[4] f32[100,3]", "eps=1e-6", ""},
    {"max_pool", "f32[2,4,9,8]", "kernel=3 stride=2 padding=1", "f32[2,4,5,4] u8[2,4,5,4]"},
    {"max_pool", "f32[2,4,9,8]", "kernel=2", "f32[2,4,4,4] u8[2,4,4,4]"},
    {"max_pool_dx", "f32[2,3,4,4] u8[2,3,4,4]", "kernel=2 height=9 width=8", "f32[2,3,9,8]"},
    {"avg_pool", "f64[2,4,9,8]", "kernel=2", "f64[2,4,4,4]"},
    {"avg_pool_dx", "f64[2,3,4,4]", "kernel=2 height=9 width=8", "f64[2,3,9,8]"},
    {"global_avg_pool", "f32[2,4,9,8]", "", "f32[2,4]"},
    {"global_avg_pool_dx", "f32[2,3]", "height=9 width=8", "f32[2,3,9,8]"},
    {"bn_stats", "f32[2,3,9,8] f32[2]", "", "f64[3,3]"},
    {"bn_stats", "f32[2,3] f32[2]", "", "f64[3,3]"},
    {"bn_apply", "f32[2,3,9,8] f64[3,3] f32[3] f32[3]", "eps=1e-3 act=relu", "f32[2,3,9,8]"},
    {"bn_apply", "f32[2,3] f64[3,3] f32[3] f32[3] f32[2,3]", "", "f32[2,3]"},
    {"bn_apply_grad", "f32[2,3,9,8] f32[2,3,9,8] f64[3,3] f32[3]", "", "f32[3] f32[3] f64[3,3]"},
    {"bn_apply_grad", "f32[2,3,9,8] f32[2,3,9,8] f64[3,3] f32[3] f32[3]", "", "f32[3] f32[3] f64[3,3]"},
    {"bn_apply_dx", "f32[2,3,9,8] f32[2,3,9,8] f64[3,3] f32[3]", "", "f32[2,3,9,8]"},
    {"bn_stats_dx", "f64[3,3] f32[2,3,9,8] f32[2]", "", "f32[2,3,9,8]"},
    {"bn_dx", "f32[2,3,9,8] f32[2,3,9,8] f64[3,3] f32[3] f64[3,3] f32[2]", "", "f32[2,3,9,8]"},
    {"bn_dx", "f32[2,3] f32[2,3] f64[3,3] f32[3] f64[3,3] f32[2] f32[3]", "", "f32[2,3]"},
    {"bn_running", "f64[3,3] f32[3] f32[3]", "momentum=0.2", ""},
    {"bn_inference", "f32[2,4] f32[4] f32[4] f32[4] f32[4] f32[2,4]", "", "f32[2,4]"},
    {"bn_inference", "f32[2,4,9,8] f32[4] f32[4] f32[4] f32[4]", "act=relu", "f32[2,4,9,8]"},
    {"layer_norm", "f32[2,5,8] f32[8] f32[8]", "", "f32[2,5,8] f32[2,5] f32[2,5]"},
    {"layer_norm_grad", "f32[2,8] f32[2,8] f32[2] f32[2] f32[8]", "", "f32[2,8] f32[8] f32[8]"},
    {"add", "f32[4,1,6] f32[10,6]", "", "f32[4,10,6]"},
    {"sub", "f32[6] f32[2,6]", "", "f32[2,6]"},
    {"mul", "f32[2,6] f32[]", "", "f32[2,6]"},
    {"div", "f64[2,6] f64[2,1]", "", "f64[2,6]"},
    {"scale", "f32[2,6]", "factor=2 offset=0.5", "f32[2,6]"},
    {"relu", "f32[2,6]", "", "f32[2,6]"},
    {"tanh", "f32[2,6]", "", "f32[2,6]"},
    {"sigmoid", "f32[2,6]", "", "f32[2,6]"},
    {"gelu", "f32[2,6]", "", "f32[2,6]"},
    {"exp", "f32[2,6]", "", "f32[2,6]"},
    {"relu_grad", "f32[2,6] f32[2,6]", "", "f32[2,6]"},
    {"tanh_grad", "f32[2,6] f32[2,6]", "", "f32[2,6]"},
    {"sigmoid_grad", "f32[2,6] f32[2,6]", "", "f32[2,6]"},
    {"gelu_grad", "f32[2,6] f32[2,6]", "", "f32[2,6]"},
    {"dropout", "f32[2,3] i64[3]", "rate=0.5 stream=4611686018427387904", "f32[2,3]"},
    {"dropout", "f32[2,6] i64[3]", "rate=0.5 dim=1 part=2 parts=3", "f32[2,6]"},
    {"cast", "f32[2,6]", "dtype=bf16", "bf16[2,6]"},
    {"cast", "i32[2,6]", "dtype=f32", "f32[2,6]"},
    {"reshape", "f32[2,3,4]", "shape=[-1,4]", "f32[6,4]"},
    {"reshape", "i32[2,3]", "shape=[6]", "i32[6]"},
    {"transpose", "f32[2,6,4]", "perm=[2,0,1]", "f32[4,2,6]"},
    {"slice", "f32[5,7]", "begin=[1,0] end=[5,-1] step=[2,1]", "f32[2,7]"},
    {"unslice", "f32[2,7]", "shape=[5,7] begin=[1,0] step=[2,1]", "f32[5,7]"},
    {"pad", "f32[2,3]", "before=[0,1] after=[1,2]", "f32[3,6]"},
    {"concat", "f32[2,6] f32[2,1] f32[2,10]", "axis=1", "f32[2,17]"},
    {"concat", "f32[2,6] f32[1,6]", "axis=-2", "f32[3,6]"},
    {"to_layout", "f32[2,3,4,5]", "from=plain to=channels_last", "f32[2,3,4,5]"},
    {"sum_to", "f32[4,5,3]", "shape=[5,1]", "f32[5,1]"},
    {"broadcast_to", "f32[5,1]", "shape=[4,5,3]", "f32[4,5,3]"},
    {"reduce_sum", "f32[4,10,6]", "axes=[0,-1]", "f32[10]"},
    {"reduce_mean", "f32[4,10,6]", "axes=[1] keep=1", "f32[4,1,6]"},
    {"reduce_max", "f32[4,5,3]", "", "f32[]"},
    {"reduce_max_grad", "f32[4] f32[4,10,6] f32[4]", "axes=[1,2]", "f32[4,10,6]"},
    {"argmax", "f32[4,10]", "", "i32[4]"},
    {"softmax", "f32[4,10]", "", "f32[4,10]"},
    {"log_softmax", "f32[4,2,10]", "", "f32[4,2,10]"},
    {"softmax_grad", "f32[4,10] f32[4,10]", "", "f32[4,10]"},
    {"log_softmax_grad", "f32[4,10] f32[4,10]", "", "f32[4,10]"},
    {"softmax_cross_entropy", "f32[8,10] i32[4,2] f32[4]", "", "f32[] f32[8,10]"},
    {"softmax_cross_entropy_grad", "f32[] f32[8,10] i32[8] f32[4]", "", "f32[8,10]"},
    {"softmax_cross_entropy_grad", "f32[] f32[8,10] i32[8] f32[4]", "part=1 parts=2", "f32[8,10]"},
    {"exp_sum", "f32[8,10] f32[8,1]", "", "f32[8,10] f32[8,1]"},
    {"pick", "f32[8,10] i32[4,2]", "part=1", "f32[8,1]"},
    {"split_cross_entropy", "f32[8,1] f32[8,1] f32[8,1] i32[8] f32[4]", "classes=10", "f32[]"},
    {"sigmoid_cross_entropy", "f32[4,1] f32[4] f32[4]", "", "f32[]"},
    {"sigmoid_cross_entropy_grad", "f32[] f32[4,6] f32[4,6] f32[4]", "", "f32[4,6]"},
    {"hinge", "f64[4,1] f64[4] f32[4]", "", "f64[]"},
    {"hinge_grad", "f64[] f64[4,1] f64[4] f32[4]", "", "f64[4,1]"},
    {"squared_error", "f32[4,6] f32[4,6] f32[4]", "", "f32[]"},
    {"squared_error_grad", "f32[] f32[4,6] f32[4,6] f32[4]", "", "f32[4,6]"},
    {"count_correct", "f32[8,5] i32[8] f32[4]", "", "f32[]"},
    {"count_correct", "f32[4,1] f32[4] f32[4]", "", "f32[]"},
    {"embedding", "f32[100,8] i32[4,3]", "", "f32[4,3,8]"},
    {"embedding_grad", "f32[4,3,8] i32[4,3]", "rows=100", "f32[100,8]"},
    {"embedding_grad_rows", "f32[4,3,8] i32[4,3]", "", "f32[12,8] i32[12]"},
    {"attention", "f32[2,6,24]", "heads=4", "f32[2,6,8] f32[2,4,6,6]"},
    {"attention_grad", "f32[2,6,8] f32[2,6,24] f32[2,4,6,6]", "heads=4 causal=0", "f32[2,6,24]"},
    {"square_sums", "f32[2,3] f32[50,50]", "begins=[0,2] size=6", "f64[6]"},
    {"clip_scale", "f64[6] f64[1]", "max=1.5", "f32[] f32[]"},
    {"sgd", "f32[2,6] f32[2,6] f64[4]", "", ""},
    {"sgd", "f32[2,6] f32[2,6] f64[4] f32[]", "decay=0.1", ""},
    {"momentum", "f32[2,6] f32[2,6] f64[4] f32[2,6]", "mu=0.5", ""},
    {"nesterov", "f32[2,6] f32[2,6] f64[4] f32[2,6] f32[]", "", ""},
    {"adagrad", "f32[2,6] f32[2,6] f64[4] f32[2,6]", "eps=1e-8", ""},
    {"adam", "f32[2,6] f32[2,6] f64[4] f32[2,6] f32[2,6] f32[]", "beta1=0.8 beta2=0.99", ""},
    {"adamw", "f32[2,6] f32[2,6] f64[4] f32[2,6] f32[2,6]", "decay=0.01", ""},
    {"sgd_rows", "f32[18,6] f32[4,6] i32[4] f64[4]", "", ""},
    {"momentum_rows", "f32[18,6] f32[4,6] i32[4] f64[4] f32[18,6]", "", ""},
    {"nesterov_rows", "f32[18,6] f32[4,6] i32[4] f64[4] f32[18,6] f32[]", "", ""},
    {"adagrad_rows", "f32[18,6] f32[4,6] i32[4] f64[4] f32[18,6]", "", ""},
    {"adam_rows", "f32[18,6] f32[4,6] i32[4] f64[4] f32[18,6] f32[18,6]", "", ""},
    {"adamw_rows", "f32[18,6] f32[4,6] i32[4] f64[4] f32[18,6] f32[18,6]", "", ""},
    {"accumulate", "f32[2,6] f32[2,6]", "", ""},
    {"all_reduce", "f32[2,6] f64[3]", "axis=dp ranks=2", "f32[2,6] f64[3]"},
    {"all_gather", "f32[2,6]", "axis=tp ranks=3", "f32[6,6]"},
    {"reduce_scatter", "f32[4,6]", "axis=tp ranks=2", "f32[2,6]"},
    {"all_to_all", "f32[4,6]", "axis=tp ranks=2", "f32[4,6]"},
    {"gather_blocks", "f32[8]", "axis=dp ranks=2", ""},
    {"send", "f32[2,6]", "peer=1 channel=0", ""},
    {"receive", "", "peer=0 channel=2 dtype=f32 shape=[2,6]", "f32[2,6]"},
    {"view", "f32[20]", "begin=4 shape=[2,6]", "f32[2,6]"},
    {"pack", "f32[2,6] f32[3]", "begins=[0,16] size=20", "f32[20]"},
    {"encode", "f32[20] f32[20]", "kind=bf16", "bf16[20]"},
    {"encode", "f64[2000] f64[2000]", "kind=int8", "u8[2008]"},
    {"encode", "f32[700] f32[700]", "kind=topk fraction=0.07", "u8[392]"},
    {"decode", "bf16[60]", "kind=bf16 size=20 ranks=3", "f32[20]"},
    {"decode", "u8[4016]", "kind=int8 size=2000 ranks=2 dtype=f64", "f64[2000]"},
    {"decode", "u8[784]", "kind=topk size=700 ranks=2", "f32[700]"},
};

std::vector<Type> types_of(std::string_view text) {
  std::vector<Type> types;
  TextCursor cursor(text, 1);
  while (!cursor.at_end()) types.push_back(cursor.type());
  return types;
}

std::string describe(const std::vector<Type>& types) {
  std::string text;
  for (const Type& type : types) text += fmt::format("{}{}", text.empty() ? "" : " ", to_string(type));
  return text;
}

Node node_of(const Sample& sample) {
  Node node;
  node.name = "node";
  node.op = find_operator(sample.op);
  node.attributes = TextCursor(sample.attributes, 1).attributes();
  return node;
}

// A graph with the sample applied to sources.
struct Applied {
  explicit Applied(const Sample& sample) {
    for (const Type& type : types_of(sample.inputs)) {
      in.push_back(graph.source(fmt::format("in{}", in.size()), type, Role::parameter));
    }
    out = graph.apply(sample.op, in, node_of(sample).attributes);
  }

  Graph graph;
  std::vector<Value> in, out;
};

template <typename Body>
void for_every_sample(Body&& body) {
  for (const Sample& sample : kSamples) {
    SCOPED_TRACE(fmt::format("{}({}) {}", sample.op, sample.inputs, sample.attributes));
    body(sample);
  }
}

TEST(EveryOperator, InfersTheTypesOfItsOutputs) {
  for_every_sample([](const Sample& sample) {
    ASSERT_NE(find_operator(sample.op), nullptr);
    const Node node = node_of(sample);
    EXPECT_EQ(describe(node.op->infer(node, types_of(sample.inputs))), sample.outputs);
  });
}

TEST(EveryOperator, NamesTheAttributesItReads) {
  for_every_sample([](const Sample& sample) {
    const Node node = node_of(sample);
    const std::vector<std::string_view> names = node.op->attribute_names();
    for (const auto& [key, value] : node.attributes.entries()) {
      EXPECT_EQ(std::count(names.begin(), names.end(), key), 1) << key;
    }
  });
}

TEST(EveryOperator, RefusesTooFewAndTooManyOperands) {
  for_every_sample([](const Sample& sample) {
    const Node node = node_of(sample);
    std::vector<Type> types = types_of(sample.inputs);
    if (!types.empty()) {
      EXPECT_THROW(node.op->infer(node, {}), ConfigError);
    }
    static const std::set<std::string_view> kAnyNumber{"concat", "square_sums", "clip_scale", "all_reduce",
                                                       "pack"};
    if (kAnyNumber.contains(node.op->name())) return;
    types.resize(types.size() + 2, {DType::f32, {1}});
    EXPECT_THROW(node.op->infer(node, types), ConfigError);
  });
}

TEST(EveryOperator, RefusesIntegersForItsFloatingPointOperands) {
  for_every_sample([](const Sample& sample) {
    static const std::set<std::string_view> kAnyType{
        "cast",          "reshape",   "transpose",  "slice",      "unslice",        "pad",
        "concat",        "to_layout", "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
        "gather_blocks", "view",      "pack",       "decode",     "send",           "receive"};
    const Node node = node_of(sample);
    if (kAnyType.contains(node.op->name())) return;
    std::vector<Type> types = types_of(sample.inputs);
    for (Type& type : types) {
      if (type.dtype == DType::f32 || type.dtype == DType::f64 || type.dtype == DType::bf16) {
        type.dtype = DType::i64;
      }
    }
    EXPECT_THROW(node.op->infer(node, types), ConfigError);
  });
}

TEST(EveryOperator, HasPlacementsThatFitItsOperands) {
  for_every_sample([](const Sample& sample) {
    const Node node = node_of(sample);
    const std::vector<Type> inputs = types_of(sample.inputs);
    const std::vector<Type> outputs = types_of(sample.outputs);
    const auto check = [](const std::vector<Placement>& placements, const std::vector<Type>& types) {
      ASSERT_EQ(placements.size(), types.size());
      for (std::size_t i = 0; i < types.size(); ++i) {
        const auto* cut = std::get_if<Sharded>(&placements[i]);
        if (cut == nullptr) continue;
        EXPECT_GE(cut->dim, 0);
        EXPECT_LT(cut->dim, types[i].shape.rank());
      }
    };
    for (const PlacementRule& rule : node.op->placements(node, inputs)) {
      check(rule.inputs, inputs);
      check(rule.outputs, outputs);
    }
  });
}

// Cutting every operand of a rule in two leaves operands that fit the localized node, and results that are
// cut as the rule says.
TEST(EveryOperator, RunsOnTheHalvesThatItsPlacementsDescribe) {
  for_every_sample([](const Sample& sample) {
    const Node node = node_of(sample);
    const auto halve = [](std::vector<Type>& types, const std::vector<Placement>& placements) {
      for (std::size_t i = 0; i < types.size(); ++i) {
        const auto* cut = std::get_if<Sharded>(&placements[i]);
        if (cut == nullptr) continue;
        if (types[i].shape[cut->dim] % 2 != 0) return false;
        types[i].shape[cut->dim] /= 2;
      }
      return true;
    };
    for (const PlacementRule& rule : node.op->placements(node, types_of(sample.inputs))) {
      if (std::count(rule.inputs.begin(), rule.inputs.end(), Placement(Local{})) > 0) continue;
      std::vector<Type> inputs = types_of(sample.inputs);
      std::vector<Type> outputs = types_of(sample.outputs);
      if (!halve(inputs, rule.inputs) || !halve(outputs, rule.outputs)) continue;
      Node half = node;
      node.op->localize(half, rule, {1, 2});
      EXPECT_EQ(describe(node.op->infer(half, inputs)), describe(outputs));
    }
  });
}

TEST(EveryOperator, CountsItsWork) {
  for_every_sample([](const Sample& sample) {
    const Node node = node_of(sample);
    const double flops = node.op->flops(node, types_of(sample.inputs), types_of(sample.outputs));
    EXPECT_GE(flops, 0);
    EXPECT_LT(flops, 1e9);
  });
}

TEST(EveryOperator, GivesEachInputAGradientOfItsOwnType) {
  for_every_sample([](const Sample& sample) {
    Applied applied(sample);
    std::vector<Value> dy(applied.out.size());
    if (dy.empty()) return;
    dy[0] = applied.graph.source("dy", applied.out[0].type(), Role::input);
    std::vector<Gradient> gradients;
    try {
      gradients = find_operator(sample.op)->gradient(applied.graph, applied.graph.nodes()[0], dy);
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("cannot be differentiated"), std::string::npos)
          << error.what();
      return;
    }
    ASSERT_EQ(gradients.size(), applied.in.size());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].value) continue;
      EXPECT_EQ(to_string(gradients[i].value.type()), to_string(applied.in[i].type())) << "input " << i;
    }
  });
}

TEST(OperatorList, HasASampleOfEveryOperator) {
  std::set<std::string_view> sampled;
  for (const Sample& sample : kSamples) sampled.insert(sample.op);
  for (const std::string_view name : operator_names()) EXPECT_TRUE(sampled.contains(name)) << name;
}

TEST(OperatorList, KnowsEachNameOnce) {
  const std::vector<std::string_view> names = operator_names();
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
  for (const std::string_view name : names) EXPECT_EQ(find_operator(name)->name(), name);
  EXPECT_EQ(find_operator("no_such_operator"), nullptr);
}

// The names in the first column of the page's tables: those before a parenthesis.
std::set<std::string> documented_operators() {
  const std::filesystem::path page = HOCKET_OPERATORS_PAGE;
  std::ifstream file(page);
  EXPECT_TRUE(file) << page;
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find('|', 1));
    for (std::size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at + 1)) {
      const std::size_t end = cell.find('`', at + 1);
      const std::string code = cell.substr(at + 1, end - at - 1);
      std::istringstream words(code.substr(0, std::min(code.find('('), code.size())));
      if (code.find('(') == std::string::npos) words.str("");
      for (std::string name; words >> name;) names.insert(name);
      at = end;
    }
  }
  return names;
}

TEST(OperatorList, IsTheOneOfTheOperatorsPage) {
  const std::vector<std::string_view> names = operator_names();
  EXPECT_EQ(documented_operators(), std::set<std::string>(names.begin(), names.end()));
}

TEST(OperatorList, HasGradientsForAllThatMathematicsAllows) {
  std::set<std::string_view> without;
  for (const Sample& sample : kSamples) {
    Applied applied(sample);
    if (applied.out.empty()) continue;
    std::vector<Value> dy(applied.out.size());
    dy[0] = applied.graph.source("dy", applied.out[0].type(), Role::input);
    try {
      find_operator(sample.op)->gradient(applied.graph, applied.graph.nodes()[0], dy);
    } catch (const ConfigError&) {
      without.insert(sample.op);
    }
  }
  const auto is_backward = [](std::string_view name) {
    return name.ends_with("_grad") || name.ends_with("_dx") || name.ends_with("_dw") ||
           name.ends_with("_rows");
  };
  std::erase_if(without, is_backward);
  EXPECT_EQ(without, (std::set<std::string_view>{"all_gather", "all_reduce", "all_to_all", "argmax",
                                                 "clip_scale", "count_correct", "decode", "encode", "pack",
                                                 "view", "exp_sum", "pick", "receive", "reduce_scatter",
                                                 "split_cross_entropy", "square_sums", "to_layout"}));
}

TEST(OperatorList, UpdatesWhatThePageSays) {
  const auto updates = [](std::string_view name) { return find_operator(name)->updates(); };
  EXPECT_EQ(updates("relu"), std::vector<int>());
  EXPECT_EQ(updates("bn_running"), (std::vector<int>{1, 2}));
  EXPECT_EQ(updates("sgd"), (std::vector<int>{0}));
  EXPECT_EQ(updates("adam"), (std::vector<int>{0, 3, 4}));
  EXPECT_EQ(updates("adam_rows"), (std::vector<int>{0, 4, 5}));
  EXPECT_EQ(updates("accumulate"), (std::vector<int>{0}));
  EXPECT_EQ(updates("encode"), (std::vector<int>{1}));
}

// Whatever sizes a model file claims, inference says no or gives types that a graph can hold.
RC_GTEST_PROP(Operators, RefuseOrGiveSoundTypesForAnySizes, ()) {
  const auto number = [] {
    return *rc::gen::element<std::int64_t>(std::numeric_limits<std::int64_t>::min(), -1, 0, 1, 2, 3, 5, 16,
                                           1 << 20, std::int64_t{1} << 31, std::int64_t{1} << 40,
                                           std::numeric_limits<std::int64_t>::max());
  };
  const Sample& sample = *rc::gen::elementOf(std::vector<Sample>(std::begin(kSamples), std::end(kSamples)));
  Node node = node_of(sample);
  std::vector<Type> inputs = types_of(sample.inputs);
  for (Type& type : inputs) {
    for (int dim = 0; dim < type.shape.rank(); ++dim) {
      if (*rc::gen::inRange(0, 4) == 0) type.shape[dim] = number();
    }
  }
  for (const std::string_view key : node.op->attribute_names()) {
    const int choice = *rc::gen::inRange(0, 8);
    if (choice == 0) node.attributes.set(key, number());
    if (choice == 1) node.attributes.set(key, IntList{number(), number()});
    if (choice == 2) node.attributes.set(key, *rc::gen::arbitrary<double>());
  }
  try {
    for (const Type& type : node.op->infer(node, inputs)) make_type(type.dtype, type.shape);
    node.op->placements(node, inputs);
  } catch (const ConfigError&) {
  }
}

struct Refusal {
  std::string_view op, inputs, attributes, message;
};

TEST(Operators, SayWhatDoesNotFit) {
  constexpr Refusal kRefusals[] = {
      {"conv2d", "f32[2,64,9,8] f32[6,32,3,3]", "", "x has 64 channels but w expects 32"},
      {"conv2d", "f32[2,64,9,8] f32[6,64,3,3]", "groups=4", "groups=4 does not divide 64 input and 6 output"},
      {"conv2d", "f32[2,4,9,8] f32[6,4,11,3]", "padding=0",
       "the kernel's 11 exceed the image's 9 with padding 0"},
      {"conv2d", "f32[2,4,9,8] f32[6,4,3,3]", "stride=0", "attribute stride=0 must be at least 1"},
      {"conv2d", "f32[2,4,9,8] f32[6,4,3,3] f32[7]", "", "bias has shape [7], expected [6]"},
      {"conv2d", "f32[2,4,9] f32[6,4,3,3]", "", "x is f32[2,4,9], expected 4 dimensions"},
      {"conv2d", "f32[2,4,9,8] f32[6,4,3,3]", "act=elu", "attribute act=elu must be none or relu"},
      {"conv2d", "f32[2,4,9,8] f32[6,4,3,3]", "padding=1 pool=2", "pool=2 does not divide an image of 9 × 8"},
      {"conv2d", "f32[2,4,34,34] f32[6,4,1,1]", "pool=17", "pool=17 is more than 16"},
      {"conv2d", "bf16[2,4,8,8] bf16[6,4,1,1]", "pool=2", "x is bf16, expected f32 or f64"},
      {"conv2d_dx", "f32[2,6,4,4] f32[6,4,1,1]", "pool=2 height=8 width=8", "pool=2: index is missing"},
      {"conv2d_dx", "f32[2,6,4,4] f32[6,4,1,1] u8[2,6,4,4]", "height=4 width=4",
       "pool=1: index is one operand too many"},
      {"conv2d_dw", "f32[2,6,4,4] f32[2,4,8,8] u8[2,6,4,3]", "pool=2 kernel=[1,1]",
       "index has shape [2,6,4,3], expected [2,6,4,4]"},
      {"matmul", "f32[4,3] f32[4,5]", "", "a has 3 columns but b expects 4"},
      {"matmul", "f32[2,4,3] f32[3,3,5]", "", "leading dimensions differ"},
      {"matmul", "f32[2,4,3] f32[4,5]", "ta=1", "ta=1 needs two dimensions"},
      {"matmul", "f32[4,3] f64[3,5]", "", "b is f64 but a is f32"},
      {"matmul", "f32[4,3] f32[3,5]", "ta=2", "attribute ta=2 must be 0 or 1"},
      {"max_pool", "f32[2,3,9,8]", "", "attribute kernel is missing"},
      {"max_pool", "f32[2,3,9,8]", "kernel=2 padding=2", "padding=2 is more than half of kernel=2"},
      {"max_pool", "f32[2,3,90,80]", "kernel=17", "kernel=17 of max_pool is more than 16"},
      {"add", "f32[2,3] f32[4,3]", "", "a has shape [2,3] and b [4,3], which do not broadcast"},
      {"reshape", "f32[2,3]", "shape=[4,-1]", "has 6 elements, which do not fill shape=[4,-1]"},
      {"reshape", "f32[2,3]", "shape=[-1,-1]", "cannot have shape=[-1,-1]"},
      {"transpose", "f32[2,3]", "perm=[0,0]", "perm=[0,0] is no permutation of 2 dimensions"},
      {"slice", "f32[5,7]", "begin=[6,0]", "[6, 5) is no range of dimension 0"},
      {"concat", "f32[2,3] f32[3,3]", "axis=1", "operand 2 is f32[3,3] but the first is f32[2,3]"},
      {"concat", "f32[2,3] f32[2,3]", "axis=2", "axis 2 is outside the 2 dimensions"},
      {"reduce_sum", "f32[2,3]", "axes=[1,-1]", "axis -1 is given twice"},
      {"dropout", "f32[2,3] i64[3]", "rate=1", "attribute rate=1 must be less than 1"},
      {"cast", "f32[2,3]", "dtype=f31", "attribute dtype=f31 must be f32"},
      {"softmax_cross_entropy", "f32[8,5] i32[7] f32[4]", "", "logits has 8 rows but label has 7 elements"},
      {"softmax_cross_entropy", "f32[8,5] i32[8] f32[3]", "", "logits has 8 rows, which 3 samples"},
      {"softmax_cross_entropy", "f32[8,5] f32[8] f32[4]", "", "label is f32, expected i32"},
      {"softmax_cross_entropy_grad", "f32[] f32[8,5] i32[8] f32[4]", "part=2 parts=2",
       "part=2 is none of parts=2"},
      {"embedding", "f32[100,8] i32[4]", "part=1048576", "part=1048576 must be less than 1048576"},
      {"squared_error", "f32[4,3] f32[4] f32[4]", "", "label has shape [4], expected [4,3]"},
      {"embedding", "f32[100,8] f32[4]", "", "ids is f32, expected i32"},
      {"attention", "f32[2,6,24]", "heads=3",
       "qkv has 24 columns, which are no query, key and value of 3 heads"},
      {"layer_norm", "f32[2,8] f32[7] f32[7]", "", "gamma has shape [7], expected [8]"},
      {"csr_matmul", "f32[20] i32[19] i32[5] f32[100,3]", "", "columns has shape [19], expected [20]"},
      {"adam", "f32[2,3] f32[2,3] f64[4] f32[2,3] f32[3]", "", "v is f32[3] but w is f32[2,3]"},
      {"sgd", "f32[2,3] f32[2,3] f32[4]", "", "hyper is f32, expected f64"},
      {"relu", "i32[2,3]", "", "x is i32, expected f32 or f64"},
      {"encode", "f32[20] f32[20]", "kind=gzip", "attribute kind=gzip must be bf16, int8 or topk"},
      {"encode", "f32[20] f32[20]", "kind=topk fraction=0", "attribute fraction=0 must be more than 0"},
      {"encode", "f32[3000000000] f32[3000000000]", "kind=int8", "a vector of 3000000000 elements cannot"},
      {"decode", "u8[60]", "kind=int8 size=20 ranks=2", "payloads has shape [60], expected [48]"},
      {"decode", "u8[4]", "kind=topk size=20", "payloads has 4 bytes, which are no pairs of 1 ranks"},
      {"embedding_grad", "f32[1048576,1048576] i32[1048576]", "rows=2147483647",
       "more than 1099511627776 elements"},
  };
  for (const Refusal& refusal : kRefusals) {
    const Node node = node_of({refusal.op, refusal.inputs, refusal.attributes, ""});
    try {
      node.op->infer(node, types_of(refusal.inputs));
      ADD_FAILURE() << refusal.op << " accepts " << refusal.inputs << " " << refusal.attributes;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(refusal.message), std::string::npos) << error.what();
    }
  }
}

TEST(Operators, CutTwiceHaveAPartOfMore) {
  const PlacementRule by_rows{{Replicated{}, Replicated{}}, {Sharded{0}}};
  Node node = node_of({"embedding_grad", "", "rows=24", ""});
  node.op->localize(node, by_rows, {1, 2});
  node.op->localize(node, by_rows, {2, 3});
  EXPECT_EQ(to_string(node.attributes), "part=5 rows=4");

  Node dropout = node_of({"dropout", "", "rate=0.5", ""});
  const PlacementRule by_columns{{Sharded{1}, Replicated{}}, {Sharded{1}}};
  dropout.op->localize(dropout, by_columns, {1, 2});
  dropout.op->localize(dropout, by_columns, {0, 2});
  EXPECT_EQ(to_string(dropout.attributes), "dim=1 part=2 parts=4 rate=0.5");
}

TEST(Operators, GiveSparseTablesRowsAsGradients) {
  Graph graph;
  const Value table =
      graph.source("table", {DType::f32, {100, 8}}, Role::parameter, {{"sparse", std::int64_t{1}}});
  const Value ids = graph.source("ids", {DType::i32, {4, 3}}, Role::input);
  const Value y = graph.add("embedding", {table, ids});
  const Value dy[] = {graph.source("dy", y.type(), Role::input)};
  const auto gradients = find_operator("embedding")->gradient(graph, graph.nodes()[0], dy);
  EXPECT_EQ(gradients[0].value.type(), (Type{DType::f32, {12, 8}}));
  EXPECT_EQ(gradients[0].row_ids.type(), (Type{DType::i32, {12}}));
  EXPECT_FALSE(gradients[1].value);
}

TEST(Operators, RefuseALossThatDependsOnAByProduct) {
  Graph graph;
  const Value x = graph.source("x", {DType::f32, {2, 6, 24}}, Role::parameter);
  const std::vector<Value> y = graph.apply("attention", std::vector<Value>{x}, {{"heads", std::int64_t{2}}});
  const Value dy[] = {Value(), graph.source("dprobs", y[1].type(), Role::input)};
  EXPECT_THROW(find_operator("attention")->gradient(graph, graph.nodes()[0], dy), ConfigError);
}

}  // namespace
}  // namespace hocket
