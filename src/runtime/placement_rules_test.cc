// Every rule of every operator, against the whole: the operands are cut as the rule says, each rank runs its
// localized node on its own share, and the shares of the results put together are what one rank computes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "graph/differentiate.h"
#include "graph/operator.h"
#include "runtime/operator_cases.h"
#include "tensor/reference/operands.h"

namespace hocket {
namespace {

constexpr double kShareTolerance = 1e-10;  // Of the value's size, or absolute below 1.

std::vector<double> elements_of(const Tensor& tensor) {
  return visit_dtype(tensor.dtype(), [&]<typename T>(T) {
    std::vector<double> elements;
    for (const T& element : tensor.values<T>()) elements.push_back(reference::to_double(element));
    return elements;
  });
}

// Copies part `index` of dimension `dim` of `whole` to or from `part`.
enum class Direction : std::uint8_t { cut, join };
void move_part(const Tensor& whole, const Tensor& part, int dim, int index, Direction direction) {
  const Shape& shape = part.shape();
  const auto run = static_cast<std::size_t>(shape.count(dim, shape.rank())) * size_of(part.dtype());
  const std::size_t stride = run * static_cast<std::size_t>(whole.shape()[dim] / shape[dim]);
  for (std::size_t row = 0; row < static_cast<std::size_t>(shape.count(0, dim)); ++row) {
    std::byte* inside = whole.bytes().data() + row * stride + static_cast<std::size_t>(index) * run;
    std::byte* own = part.bytes().data() + row * run;
    if (direction == Direction::cut) {
      std::copy_n(inside, run, own);
    } else {
      std::copy_n(own, run, inside);
    }
  }
}

std::int64_t flat_size(std::int64_t count, int ranks) { return (count + ranks - 1) / ranks; }

// The shape of a rank's share; none where the cut does not divide.
std::optional<Shape> share_shape(const Shape& whole, const Placement& placement, int ranks) {
  if (std::holds_alternative<Flat>(placement)) return Shape{flat_size(whole.count(), ranks)};
  const auto* cut = std::get_if<Sharded>(&placement);
  if (cut == nullptr) return whole;
  if (whole[cut->dim] % ranks != 0) return std::nullopt;
  Shape shape = whole;
  shape[cut->dim] /= ranks;
  return shape;
}

// The ranks' shares of a value, and the value again from its shares.
class Cutter {
 public:
  // Partial values are spread over the ranks, or lie on the first of them where the results would be rounded.
  Cutter(int ranks, bool spreads) : ranks_(ranks), spreads_(spreads) {}

  std::vector<Tensor> split(const Tensor& whole, const Placement& placement) {
    std::vector<Tensor> shares;
    for (int rank = 0; rank < ranks_; ++rank) {
      shares.emplace_back(whole.dtype(), *share_shape(whole.shape(), placement, ranks_));
      const Tensor& share = shares.back();
      if (const auto* cut = std::get_if<Sharded>(&placement)) {
        move_part(whole, share, cut->dim, rank, Direction::cut);
      } else if (std::holds_alternative<Flat>(placement)) {
        const std::span<std::byte> bytes = share.bytes();
        const std::size_t begin = std::min(bytes.size() * static_cast<std::size_t>(rank), whole.byte_size());
        const std::size_t size = std::min(bytes.size(), whole.byte_size() - begin);
        std::copy_n(whole.bytes().begin() + static_cast<std::ptrdiff_t>(begin), size, bytes.begin());
      } else if (!std::holds_alternative<Partial>(placement) || rank == 0) {
        std::copy(whole.bytes().begin(), whole.bytes().end(), share.bytes().begin());
      }
    }
    if (const auto* partial = std::get_if<Partial>(&placement)) scatter_terms(shares, partial->reduction);
    return shares;
  }

  // Fails the test where shares that must be equal are not.
  std::vector<double> join(const std::vector<Tensor>& shares, const Placement& placement,
                           const Shape& shape) const {
    if (const auto* cut = std::get_if<Sharded>(&placement)) {
      const Tensor whole(shares[0].dtype(), shape);
      for (int rank = 0; rank < ranks_; ++rank) {
        move_part(whole, shares[static_cast<std::size_t>(rank)], cut->dim, rank, Direction::join);
      }
      return elements_of(whole);
    }
    std::vector<double> result = elements_of(shares[0]);
    for (std::size_t rank = 1; rank < shares.size(); ++rank) {
      const std::vector<double> more = elements_of(shares[rank]);
      if (std::holds_alternative<Flat>(placement)) {
        result.insert(result.end(), more.begin(), more.end());
        continue;
      }
      const auto* partial = std::get_if<Partial>(&placement);
      if (partial == nullptr) {
        EXPECT_EQ(more, result) << "replicated results differ";
        continue;
      }
      for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] = partial->reduction == Reduction::max ? std::max(result[i], more[i]) : result[i] + more[i];
      }
    }
    result.resize(static_cast<std::size_t>(shape.count()));
    return result;
  }

 private:
  // The first share has the value, the others zeros: moves random amounts between them, or replaces zeros by
  // what is smaller than the value.
  void scatter_terms(const std::vector<Tensor>& shares, Reduction reduction) {
    if (!spreads_ || shares[0].dtype() != DType::f64) return;
    for (std::size_t rank = 1; rank < shares.size(); ++rank) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(shares[0].count()); ++i) {
        double& first = shares[0].values<double>()[i];
        double& own = shares[rank].values<double>()[i];
        const double amount = rng_.uniform(0, 2);
        own = reduction == Reduction::max ? first - amount : amount;
        if (reduction == Reduction::sum) first -= amount;
        if (reduction == Reduction::max && rng_.below(2) == 0) std::swap(first, own);
      }
    }
  }

  int ranks_;
  bool spreads_;
  Rng rng_{7};
};

// One node with tensors for its inputs.
struct Work {
  const Operator* op;
  Attributes attributes;
  std::vector<Tensor> inputs;  // Those that the operator updates hold the new values after run().
  std::vector<Tensor> outputs;

  // What the operator changes or makes: the inputs that it updates, then its outputs.
  std::vector<Tensor> results() const {
    std::vector<Tensor> all;
    for (const int updated : op->updates()) all.push_back(inputs[static_cast<std::size_t>(updated)]);
    all.insert(all.end(), outputs.begin(), outputs.end());
    return all;
  }

  void run() {
    Graph graph;
    Sources sources;
    std::vector<Value> operands;
    for (const Tensor& input : inputs) {
      const std::string name = fmt::format("in{}", operands.size());
      operands.push_back(graph.source(name, {input.dtype(), input.shape()}, Role::input));
      sources[operands.back().id()] = input;
    }
    const std::vector<Value> made = graph.apply(op->name(), operands, attributes);
    const std::vector<Tensor> values = evaluate(graph, sources, KernelSet::reference);
    for (const Value& value : made) outputs.push_back(values[static_cast<std::size_t>(value.id())]);
  }
};

// Where the results lie, in the order of Work::results().
std::vector<Placement> result_placements(const Operator& op, const PlacementRule& rule) {
  std::vector<Placement> placements;
  for (const int updated : op.updates()) placements.push_back(rule.inputs[static_cast<std::size_t>(updated)]);
  placements.insert(placements.end(), rule.outputs.begin(), rule.outputs.end());
  return placements;
}

std::string to_string(const PlacementRule& rule) {
  std::vector<std::string> inputs, outputs;
  for (const Placement& placement : rule.inputs) inputs.push_back(to_string(placement));
  for (const Placement& placement : rule.outputs) outputs.push_back(to_string(placement));
  return fmt::format("{} -> {}", fmt::join(inputs, " "), fmt::join(outputs, " "));
}

bool has_local(const PlacementRule& rule) {
  const auto is_local = [](const Placement& placement) { return std::holds_alternative<Local>(placement); };
  return std::any_of(rule.inputs.begin(), rule.inputs.end(), is_local) ||
         std::any_of(rule.outputs.begin(), rule.outputs.end(), is_local);
}

// What the Local operands of a rank are. Dropout's key names the first of the rank's rows, and sparse rows
// are cut at their offsets; false for operators whose ranks differ from the whole on purpose.
bool replace_local_operands(const Work& whole, const PlacementRule& rule, AxisShare share, Work& own) {
  if (whole.op->name() == "dropout") {
    own.inputs[1].values<std::int64_t>()[2] += share.index * own.inputs[0].shape()[0];
    return true;
  }
  if (!whole.op->name().starts_with("csr_matmul")) return !has_local(rule);
  const std::size_t values = whole.op->name() == "csr_matmul" ? 0 : 1;
  const auto offsets = whole.inputs[values + 2].values<std::int32_t>();
  const std::size_t rows = (offsets.size() - 1) / static_cast<std::size_t>(share.count);
  const auto begin = offsets.subspan(rows * static_cast<std::size_t>(share.index), rows + 1);
  std::vector<std::int32_t> local(begin.begin(), begin.end());
  for (std::int32_t& offset : local) offset -= begin.front();
  own.inputs[values + 2] = Tensor::of<std::int32_t>({static_cast<std::int64_t>(rows + 1)}, local);
  for (const std::size_t moved : {values, values + 1}) {
    const std::span<std::byte> from = whole.inputs[moved].bytes();
    const std::size_t skipped =
        static_cast<std::size_t>(begin.front()) * size_of(whole.inputs[moved].dtype());
    std::copy(from.begin() + static_cast<std::ptrdiff_t>(skipped), from.end(),
              own.inputs[moved].bytes().begin());
  }
  return true;
}

class RuleCheck {
 public:
  // Checks every rule of every node that the case makes, in forward and backward.
  void check(const OperatorCase& test, bool is_differentiable) {
    SCOPED_TRACE(test.name);
    Scene scene(DType::f64, Scene::Size::divisible);
    const std::vector<Value> results = test.build(scene);
    Sources sources = scene.sources();
    if (is_differentiable) {
      differentiate(scene.graph(), scene.loss_of(results));
      sources = scene.sources();
      sources[scene.graph().find("dloss").id()] = Tensor::of<double>({}, {0.7});
    }
    const std::vector<Tensor> values = evaluate(scene.graph(), sources, KernelSet::reference);
    for (const Node& node : scene.graph().nodes()) check_node(node, values);
  }

  const std::set<std::string>& operators() const { return operators_; }
  const std::map<std::string, int>& rules() const { return rules_; }  // How often each was checked.
  int checked() const { return checked_; }

 private:
  void check_node(const Node& node, const std::vector<Tensor>& values) {
    operators_.emplace(node.op->name());
    Work whole{node.op, node.attributes, {}, {}};
    std::vector<Type> types;
    for (const ValueId id : node.inputs) {
      whole.inputs.push_back(copy_of(values[static_cast<std::size_t>(id)]));
      types.push_back({whole.inputs.back().dtype(), whole.inputs.back().shape()});
    }
    for (const PlacementRule& rule : node.op->placements(node, types)) {
      int& count = rules_[fmt::format("{}: {}", node.op->name(), to_string(rule))];
      for (const int ranks : {2, 3, 4}) {
        SCOPED_TRACE(fmt::format("{} on {} ranks: {}", node.op->name(), ranks, to_string(rule)));
        if (!check_rule(node, whole, rule, ranks)) continue;
        ++count;
        ++checked_;
      }
    }
  }

  // False where the rule does not apply to so many ranks.
  static bool check_rule(const Node& node, const Work& given, const PlacementRule& rule, int ranks) {
    Work whole{given.op, given.attributes, copies_of(given.inputs), {}};
    whole.run();
    const std::vector<Tensor> expected = whole.results();
    const std::vector<Placement> placements = result_placements(*node.op, rule);
    if (!divides(given.inputs, rule.inputs, ranks) || !divides(expected, placements, ranks)) return false;

    Cutter cutter(ranks, whole.op->name() != "cast");
    std::vector<std::vector<Tensor>> shares;
    for (std::size_t i = 0; i < given.inputs.size(); ++i) {
      shares.push_back(cutter.split(given.inputs[i], rule.inputs[i]));
    }
    std::vector<std::vector<Tensor>> results(expected.size());
    for (int rank = 0; rank < ranks; ++rank) {
      Node local = node;
      node.op->localize(local, rule, {rank, ranks});
      Work own{node.op, local.attributes, {}, {}};
      for (const std::vector<Tensor>& share : shares)
        own.inputs.push_back(share[static_cast<std::size_t>(rank)]);
      if (has_local(rule) && !replace_local_operands(given, rule, {rank, ranks}, own)) return false;
      own.run();
      const std::vector<Tensor> made = own.results();
      for (std::size_t i = 0; i < made.size(); ++i) {
        EXPECT_EQ(made[i].shape(), *share_shape(expected[i].shape(), placements[i], ranks)) << "result " << i;
        results[i].push_back(made[i]);
      }
    }
    if (testing::Test::HasFailure()) return true;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect_near(cutter.join(results[i], placements[i], expected[i].shape()), elements_of(expected[i]));
    }
    return true;
  }

  static bool divides(const std::vector<Tensor>& tensors, const std::vector<Placement>& placements,
                      int ranks) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!share_shape(tensors[i].shape(), placements[i], ranks)) return false;
    }
    return true;
  }

  static void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], kShareTolerance * std::max(1.0, std::fabs(expected[i])))
          << "element " << i;
    }
  }

  std::set<std::string> operators_;
  std::map<std::string, int> rules_;
  int checked_ = 0;
};

TEST(PlacementRules, GiveWhatOneRankComputes) {
  RuleCheck check;
  for (const OperatorCase& test : differentiable_cases()) check.check(test, true);
  for (const OperatorCase& test : image_cases()) check.check(test, true);
  for (const OperatorCase& test : update_cases()) check.check(test, false);

  // Batch norm that is not synchronised differs from the whole on purpose.
  const auto differs_on_purpose = [](const std::string& rule) {
    return rule.find("local") != std::string::npos &&
           (rule.starts_with("bn_") || rule.starts_with("accumulate"));
  };
  int skipped = 0;
  for (const auto& [rule, count] : check.rules()) {
    if (differs_on_purpose(rule)) {
      ++skipped;
    } else {
      EXPECT_GT(count, 0) << rule << " was never checked";
    }
  }
  for (const std::string_view name : operator_names()) {
    static const std::set<std::string_view> kAfterPlacement{
        "to_layout",     "all_reduce", "all_gather", "all_to_all", "reduce_scatter",
        "gather_blocks", "view",       "pack",       "send",       "receive"};
    if (kAfterPlacement.contains(name)) continue;
    EXPECT_TRUE(check.operators().contains(std::string(name))) << name << " is in no case";
  }
  fmt::print("{} rules of {} operators, checked {} times; {} of ranks that differ on purpose\n",
             check.rules().size() - static_cast<std::size_t>(skipped), check.operators().size(),
             check.checked(), skipped);
  EXPECT_GT(check.checked(), 2000);
}

}  // namespace
}  // namespace hocket
