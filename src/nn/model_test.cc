#include "nn/model.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/text.h"

namespace hocket {
namespace {

SampleSpec images(std::int64_t channels, std::int64_t size, std::int64_t classes = 10) {
  SampleSpec spec;
  spec.fields = {{"image", DType::f32, {channels, size, size}}, {"label", DType::i32, {}}};
  spec.classes = classes;
  return spec;
}

SampleSpec text(std::int64_t context) {
  SampleSpec spec;
  spec.fields = {{"tokens", DType::i32, {context}}, {"label", DType::i32, {context}}};
  spec.target = Target::next_token;
  spec.classes = 256;
  return spec;
}

SampleSpec sparse_rows(std::int64_t features) {
  SampleSpec spec;
  spec.fields = {{"values", DType::f32, {14}},
                 {"columns", DType::i32, {14}},
                 {"offsets", DType::i32, {}},
                 {"label", DType::f32, {}}};
  spec.target = Target::binary;
  spec.features = features;
  spec.max_nonzeros = 14;
  return spec;
}

SampleSpec clicks() {
  SampleSpec spec;
  spec.fields = {{"numeric", DType::f32, {13}}, {"category", DType::i32, {26}}, {"label", DType::f32, {}}};
  spec.target = Target::binary;
  spec.features = 1000;
  return spec;
}

std::int64_t parameters(std::string_view model, const SampleSpec& spec) {
  return size_of_model(*build_model(parse_model(model), spec, 2)).parameters;
}

std::string error_of(std::string_view model, const SampleSpec& spec) {
  try {
    build_model(parse_model(model), spec, 2);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(BuildModel, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(parameters("mlp", images(1, 28)), 669'706);
  EXPECT_EQ(parameters("lenet", images(1, 28)), 421'642);
  EXPECT_EQ(parameters("resnet20", images(3, 32)), 269'722);
  EXPECT_EQ(parameters("resnet,depth=32", images(3, 32)), 464'154);
  EXPECT_EQ(parameters("resnet56", images(3, 32)), 853'018);
  EXPECT_EQ(parameters("resnet18", images(3, 224, 1000)), 11'689'512);
  EXPECT_EQ(parameters("resnet34", images(3, 224, 1000)), 21'797'672);
  EXPECT_EQ(parameters("resnet50", images(3, 224, 1000)), 25'557'032);
  EXPECT_EQ(parameters("resnet101", images(3, 224, 1000)), 44'549'160);
  EXPECT_EQ(parameters("resnet152", images(3, 224, 1000)), 60'192'808);
  EXPECT_EQ(parameters("alexnet", images(3, 224, 1000)), 61'100'840);
  EXPECT_EQ(parameters("gpt", text(128)), 3'323'392);
  EXPECT_EQ(parameters("gpt,tied=1", text(128)), 3'323'392 - 256 * 256);
  EXPECT_EQ(parameters("gpt,encoder=1", text(128)), 3'323'392);
  EXPECT_EQ(parameters("logreg", sparse_rows(123)), 124);
  EXPECT_EQ(parameters("svm,bias=0", sparse_rows(123)), 123);
  EXPECT_EQ(parameters("linreg", sparse_rows(123)), 124);
  EXPECT_EQ(parameters("logreg", images(1, 28)), 7'850);
}

TEST(BuildModel, EveryBuiltInModelPrintsAndReadsBack) {
  for (const auto& [name, spec] : std::vector<std::pair<std::string, SampleSpec>>{{"mlp", images(1, 28)},
                                                                                  {"lenet", images(1, 28)},
                                                                                  {"alexnet", images(3, 32)},
                                                                                  {"resnet20", images(3, 32)},
                                                                                  {"gpt", text(16)},
                                                                                  {"gpt,encoder=1", text(16)},
                                                                                  {"logreg", sparse_rows(9)},
                                                                                  {"svm", sparse_rows(9)},
                                                                                  {"linreg", sparse_rows(9)},
                                                                                  {"deepfm", clicks()}}) {
    const std::string printed = print_text(*build_model(parse_model(name), spec, 3));
    EXPECT_EQ(print_text(*parse_text(printed, "test", 3)), printed) << name;
  }
}

// The parameters that a tensor-parallel axis cuts, as in "fc1.weight:0".
std::string cuts(std::string_view model, const SampleSpec& spec) {
  const std::unique_ptr<Graph> graph = build_model(parse_model(model), spec, 2);
  std::string text;
  for (const ValueId id : graph->values_of(Role::parameter)) {
    const ValueInfo& info = graph->value(id);
    if (!info.attributes.has("tp")) continue;
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", info.name, info.attributes.integer("tp", -1));
  }
  return text;
}

TEST(BuildModel, SaysWhatATensorParallelAxisCuts) {
  EXPECT_EQ(cuts("mlp,hidden=32x16", images(1, 28)),
            "fc1.weight:0 fc1.bias:0 fc2.weight:1 fc3.weight:0 fc3.bias:0");
  EXPECT_EQ(cuts("lenet", images(1, 28)),
            "conv1.weight:0 conv1.bias:0 conv2.weight:1 fc1.weight:0 fc1.bias:0 fc2.weight:1");
  EXPECT_EQ(cuts("alexnet", images(3, 32)),
            "conv1.weight:0 conv1.bias:0 conv2.weight:1 conv3.weight:0 conv3.bias:0 conv4.weight:1 "
            "conv5.weight:0 conv5.bias:0 fc6.weight:1 fc7.weight:0 fc7.bias:0 fc8.weight:1");
  const std::string block =
      "blocks.0.attn.qkv.weight:0 blocks.0.attn.qkv.bias:0 blocks.0.attn.proj.weight:1 "
      "blocks.0.mlp.up.weight:0 blocks.0.mlp.up.bias:0 blocks.0.mlp.down.weight:1";
  EXPECT_EQ(cuts("gpt,layers=1", text(16)), "tok.weight:0 " + block + " head.weight:0");
  EXPECT_EQ(cuts("gpt,layers=1,tied=1", text(16)), "tok.weight:0 " + block);
  EXPECT_TRUE(cuts("resnet20", images(3, 32))
                  .starts_with("stage1.0.conv1.weight:0 stage1.0.bn1.weight:0 stage1.0.bn1.bias:0 "
                               "stage1.0.conv2.weight:1 stage1.1.conv1.weight:0"));
}

TEST(BuildModel, SaysWhatDoesNotFit) {
  EXPECT_NE(error_of("lenett", images(1, 28)).find("did you mean lenet?"), std::string::npos);
  EXPECT_NE(error_of("lenet", text(16)).find("needs images"), std::string::npos);
  EXPECT_NE(error_of("gpt,layerz=3", text(16)).find("did you mean layers?"), std::string::npos);
  EXPECT_NE(error_of("gpt,heads=3", text(16)).find("does not divide"), std::string::npos);
  EXPECT_NE(error_of("resnet,depth=21", images(3, 32)).find("depth 21"), std::string::npos);
  EXPECT_NE(error_of("mlp,hidden=12y", images(1, 28)).find("hidden=12y"), std::string::npos);
  EXPECT_NE(error_of("file:nowhere.txt", images(1, 28)).find("nowhere.txt"), std::string::npos);
}

}  // namespace
}  // namespace hocket
