#include "graph/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.h"
#include "graph/build.h"
#include "graph/differentiate.h"

namespace hocket {
namespace {

constexpr std::string_view kLenet = R"(input image f32[N,1,28,28]
input label i32[N]
input weight f32[N]
parameter conv1.weight f32[32,1,3,3] init=normal std=0.47
parameter conv1.bias f32[32] init=zeros
parameter fc.weight f32[10,6272] bound=0.0126 init=uniform
buffer running f32[32]
conv1 = conv2d(image, conv1.weight, conv1.bias) padding=1       # f32[N,32,28,28]
pool1, pool1:1 = max_pool(conv1) kernel=2                       # f32[N,32,14,14], u8[N,32,14,14]
flat = reshape(pool1) shape=[-1,6272]                           # f32[N,6272]
fc = matmul(flat, fc.weight) tb=1                               # f32[N,10]
stats = bn_stats(pool1, weight)                                 # f64[3,32]
keep = bn_running(stats, running, running) momentum=0.1
xent, xent:1 = softmax_cross_entropy(fc, label, weight)         # f32[], f32[N,10]
output loss = xent
output scores = fc
)";

std::string error_of(std::string_view text, std::int64_t batch = 4) {
  try {
    parse_text(text, "a.model", batch);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Text, ReadsBackWhatItPrints) {
  EXPECT_EQ(print_text(*parse_text(kLenet, "lenet", 16)), kLenet);
  EXPECT_EQ(print_text(*parse_text(kLenet, "lenet", 1)), kLenet);
}

TEST(Text, PutsTheBatchForN) {
  const std::unique_ptr<Graph> graph = parse_text(kLenet, "lenet", 16);
  EXPECT_EQ(graph->find("image").shape(), (Shape{16, 1, 28, 28}));
  EXPECT_EQ(graph->find("fc").shape(), (Shape{16, 10}));
  EXPECT_EQ(graph->find("fc.weight").info().role, Role::parameter);
  EXPECT_EQ(graph->find("conv1.weight").info().attributes.real("std", 0), 0.47);
  EXPECT_EQ(graph->output("loss"), graph->find("xent"));
}

TEST(Text, PutsTheBatchForTheRowsOfSparseInput) {
  constexpr std::string_view kText = R"(input values f32[14*N]
input columns i32[14*N]
input offsets i32[N+1]
input weight f32[N]
parameter w f32[123,1] sparse=1
y = csr_matmul(values, columns, offsets, w)                     # f32[N,1]
)";
  const std::unique_ptr<Graph> graph = parse_text(kText, "logreg", 32);
  EXPECT_EQ(graph->find("values").shape(), (Shape{448}));
  EXPECT_EQ(graph->find("offsets").shape(), (Shape{33}));
  EXPECT_EQ(print_text(*graph), kText);
}

TEST(Text, KeepsTheKeyOfDropoutWhateverTheBatch) {
  constexpr std::string_view kText = R"(input x f32[N,8]
input key i64[3]
input weight f32[N]
y = dropout(x, key) rate=0.5                                    # f32[N,8]
)";
  EXPECT_EQ(print_text(*parse_text(kText, "", 3)), kText);
}

TEST(Text, AcceptsCommentsBlanksAndShortForms) {
  const std::unique_ptr<Graph> graph = parse_text(
      "# a model\r\n\r\n  input\tx f32[ N , 2,4, 4 ]  # pixels\r\n input = max_pool ( x )kernel = 2\noutput "
      "input",
      "", 4);
  EXPECT_EQ(graph->find("input:1").shape(), (Shape{4, 2, 2, 2}));
  EXPECT_EQ(graph->output("input"), graph->find("input"));
}

TEST(Text, SaysWhereAndWhatIsWrong) {
  constexpr std::string_view kX = "input x f32[N,4]\n";
  const auto after_x = [&](std::string_view line) { return error_of(std::string(kX) + std::string(line)); };
  EXPECT_EQ(after_x("y = relu(z)"), "a.model:2: unknown value z; did you mean x?");
  EXPECT_EQ(after_x("y = rellu(x)"), "a.model:2: unknown operator rellu; did you mean relu?");
  EXPECT_EQ(after_x("y = relu(x"), "a.model:2: expected ',', found the end of the line");
  EXPECT_EQ(after_x("y = relu(x) 3"), "a.model:2: expected an attribute such as padding=1, found '3'");
  EXPECT_EQ(after_x("y relu(x)"),
            "a.model:2: expected input, parameter, buffer, output or NAME = OPERATOR(…), found 'y'");
  EXPECT_EQ(after_x("inptu y f32[2]"),
            "a.model:2: expected input, parameter, buffer, output or NAME = OPERATOR(…), found 'inptu'; did "
            "you mean "
            "input?");
  EXPECT_EQ(after_x("x = relu(x)"), "a.model:2: the graph has two values called x");
  EXPECT_EQ(after_x("input x f32[2]"), "a.model:2: the graph has two values called x");
  EXPECT_EQ(after_x("y, z = relu(x)"), "a.model:2: 2 outputs named, but the operator has 1");
  EXPECT_EQ(after_x("output y"), "a.model:2: unknown value y; did you mean x?");
  EXPECT_EQ(after_x("output x\noutput x"), "a.model:3: the output x is given twice");
  EXPECT_EQ(after_x("y = scale(x) factor=1 factor=2"), "a.model:2: attribute factor is given twice");
  EXPECT_EQ(after_x("y = scale(x) factor=1e999"), "a.model:2: factor=1e999 is not a number in range");
  EXPECT_EQ(after_x("y = scale(x) faktor=1"),
            "a.model:2: node y: operator scale has no attribute faktor; did you mean factor?");
  EXPECT_EQ(error_of("input x f32[N,3]\ny = matmul(x, x)"),
            "a.model:2: node y = matmul(x: f32[4,3], x: f32[4,3]): a has 3 columns but b expects 4");
}

TEST(Text, RefusesSizesThatAreNone) {
  EXPECT_EQ(error_of("input x f32[0]"), "a.model:1: the shape [0] has a dimension of 0, expected at least 1");
  EXPECT_EQ(error_of("input x f32[-3]"),
            "a.model:1: the shape [-3] has a dimension of -3, expected at least 1");
  EXPECT_EQ(error_of("input x f32[1048576,1048577]"),
            "a.model:1: the shape [1048576,1048577] has more than 1099511627776 elements");
  EXPECT_EQ(error_of("input x f32[99999999999999999999]"),
            "a.model:1: expected a whole number or N, found '99999999999999999999'");
  EXPECT_EQ(error_of("input x f32[9223372036854775807*N]"),
            "a.model:1: 9223372036854775807*N is no size of a tensor");
  EXPECT_EQ(error_of("input x f32[1,1,1,1,1,1,1]"), "a.model:1: a shape has at most 6 dimensions");
  EXPECT_EQ(error_of("input x f33[1]"), "a.model:1: expected a type such as f32[N,10], found 'f33'");
  EXPECT_EQ(error_of("input x \x01"), "a.model:1: expected a type such as f32[N,10], found '?'");
  EXPECT_EQ(error_of("input weight f32[5]"),
            "a.model:1: the input weight is f32[5], expected f32[N]: the weight of each sample");
  EXPECT_EQ(error_of("x", 0), "a batch of 0 samples");
  EXPECT_EQ(error_of(std::string(kMaxTextBytes + 1, '\n')),
            "a.model: 1048577 bytes, a model file has at most 1048576");
}

TEST(Text, SetsPhasesApart) {
  Graph graph;
  const Value x = graph.source("x", {DType::f32, {4, 3}}, Role::input);
  const Value label = graph.source("label", {DType::f32, {4, 2}}, Role::input);
  const Value weight = graph.source("weight", {DType::f32, {4}}, Role::input);
  const Value w = graph.source("w", {DType::f32, {2, 3}}, Role::parameter);
  differentiate(graph, squared_error(matmul_nt(x, w, "y"), label, weight, "loss"));
  EXPECT_EQ(print_text(graph), R"(input x f32[N,3]
input label f32[N,2]
input weight f32[N]
parameter w f32[2,3]
input dloss f32[]
# forward
y = matmul(x, w) tb=1                                           # f32[N,2]
loss = squared_error(y, label, weight)                          # f32[]
# backward
d.y = squared_error_grad(dloss, y, label, weight)               # f32[N,2]
d.x = matmul(d.y, w)                                            # f32[N,3]
d.w = matmul_dw(x, d.y) tb=1                                    # f32[2,3]
)");
}

// A chain of random layers on a batch of random size.
std::unique_ptr<Graph> random_graph() {
  const auto pick = [](int end) { return *rc::gen::inRange(0, end); };
  auto graph = std::make_unique<Graph>();
  const std::int64_t batch = 1 + pick(6);
  const Value weight = graph->source("weight", {DType::f32, {batch}}, Role::input);
  Value x = graph->source("x", {DType::f32, {batch, 2, 8, 8}}, Role::input);
  const Value key = graph->source("key", {DType::i64, {3}}, Role::input);
  for (int layers = pick(12); layers > 0; --layers) {
    const std::int64_t channels = x.dim(1);
    switch (pick(7)) {
      case 0: x = relu(x); break;
      case 1: x = max_pool(x, {.kernel = 1 + pick(2)}); break;
      case 2: x = dropout(x, key, pick(100) / 100.0, pick(1000)); break;
      case 3: x = x * x + scale(x, *rc::gen::arbitrary<double>()); break;
      case 4: x = slice(x, {0, 0, 0, 0}, {-1, -1, 1, -1}); break;
      case 5: x = concat(std::vector<Value>{x, x}, pick(2) == 0 ? 1 : -3); break;
      default: {
        const Value w = graph->source(fmt::format("w{}", layers), {DType::f32, {3, channels, 1, 1}},
                                      Role::parameter, {{"std", pick(1000) / 7.0}});
        x = conv2d(x, w, {}, {.stride = 1 + pick(2), .padding = pick(2)});
      }
    }
    if (x.dim(2) < 2 || x.dim(3) < 2) break;
  }
  bn_stats(x, weight);
  graph->set_output("y", x);
  return graph;
}

RC_GTEST_PROP(Text, OfAnyGraphReadsBackToTheSameText, ()) {
  const std::unique_ptr<Graph> graph = random_graph();
  const std::string text = print_text(*graph);
  RC_ASSERT(print_text(*parse_text(text, "text", graph->find("weight").dim(0))) == text);
}

}  // namespace
}  // namespace hocket
