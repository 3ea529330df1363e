// A block is memory that one or more values share: an activation, the reshapes of it, and what element-wise
// operators write over it. Each block has a lifetime, from the node that first writes it to the last that
// reads it. Blocks are placed largest first, each at the lowest offset that is free during its whole
// lifetime.
#include "graph/memory_plan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "tensor/arena.h"

namespace hocket {
namespace {

constexpr int kForever = std::numeric_limits<int>::max();

// Operators that may write their output over an operand of the same type: element i depends on element i
// alone.
constexpr std::array<std::string_view, 17> kInPlace{
    "relu", "tanh",  "sigmoid",   "gelu",      "exp",          "scale",     "add",     "sub",        "mul",
    "div",  "bn_dx", "relu_grad", "tanh_grad", "sigmoid_grad", "gelu_grad", "dropout", "bn_apply_dx"};

// A part of a vector that a pack node makes.
struct Bundle {
  ValueId whole = kNoValue;
  std::size_t offset = 0;
};

struct Block {
  int first = 0;
  int last = 0;
  std::size_t bytes = 0;
  bool crosses_phases = false;
  std::size_t offset = 0;
};

class Planner {
 public:
  Planner(const Graph& graph, const StepLayouts& layouts, std::span<const Gradient> gradients)
      : graph_(graph), layouts_(layouts), block_of_(static_cast<std::size_t>(graph.value_count()), -1) {
    plan_.locations.resize(static_cast<std::size_t>(graph.value_count()));
    is_placed_.assign(static_cast<std::size_t>(graph.value_count()), false);
    offset_in_block_.assign(static_cast<std::size_t>(graph.value_count()), 0);
    place_sources();
    place_gradients(gradients);
    find_last_uses();
    find_bundles();
  }

  MemoryPlan run() {
    const std::vector<Node>& nodes = graph_.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const ValueId id : nodes[i].outputs) {
        const auto value = static_cast<std::size_t>(id);
        if (!is_placed_[value] && block_of_[value] < 0) give_memory(id, nodes[i], static_cast<int>(i));
      }
    }
    plan_.slot_bytes = place_blocks(true);
    plan_.work_bytes = place_blocks(false);
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      const int block = block_of_[static_cast<std::size_t>(id)];
      if (block < 0) continue;
      const Block& home = blocks_[static_cast<std::size_t>(block)];
      place(id, {home.crosses_phases ? Space::slot : Space::work,
                 home.offset + offset_in_block_[static_cast<std::size_t>(id)]});
    }
    return std::move(plan_);
  }

 private:
  void place(ValueId id, Location location) {
    plan_.locations[static_cast<std::size_t>(id)] = location;
    is_placed_[static_cast<std::size_t>(id)] = true;
  }

  void place_sources() {
    for (const ValueId id : graph_.values_of(Role::input)) {
      place(id, {Space::input, plan_.inputs.size()});
      plan_.inputs.push_back(id);
    }
    for (const ValueId id : graph_.values_of(Role::parameter)) {
      place(id, {Space::parameter, layouts_.parameters.at(graph_.value(id).name).offset});
    }
    for (const ValueId id : graph_.values_of(Role::buffer)) {
      place(id, {Space::buffer, layouts_.buffers.at(graph_.value(id).name).offset});
    }
    for (const ValueId id : graph_.values_of(Role::state)) {
      place(id, {Space::state, layouts_.state.at(graph_.value(id).name).offset});
    }
  }

  void place_gradients(std::span<const Gradient> gradients) {
    const std::vector<ValueId> parameters = graph_.values_of(Role::parameter);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].value || gradients[i].row_ids)
        continue;  // Rows are activations that live to the update.
      const std::size_t offset = layouts_.gradients.at(graph_.value(parameters[i]).name).offset;
      place(gradients[i].value.id(), {Space::gradient, offset});
    }
    for (const Node& node : graph_.nodes()) {
      if (node.op->name() == "all_reduce") sum_gradients_in_place(node);
      if (node.op->name() == "reduce_scatter") scatter_gradients_in_place(node);
      if (node.op->name() == "decode") decode_gradients_in_place(node);
    }
  }

  // The terms of a gradient lie where their sum will.
  void sum_gradients_in_place(const Node& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId sum = node.outputs[i], terms = node.inputs[i];
      const bool is_gradient = graph_.value(terms).role == Role::gradient;
      if (is_gradient && is_placed_[static_cast<std::size_t>(sum)] &&
          !is_placed_[static_cast<std::size_t>(terms)])
        place(terms, plan_.locations[static_cast<std::size_t>(sum)]);
    }
  }

  // This rank's block of a sum that lies with the gradients stays where it is made.
  void scatter_gradients_in_place(const Node& node) {
    const Location whole = plan_.locations[static_cast<std::size_t>(node.inputs[0])];
    const bool is_placed = is_placed_[static_cast<std::size_t>(node.inputs[0])];
    if (!is_placed || whole.space != Space::gradient || !node.attributes.has("index")) return;
    const auto index = static_cast<std::size_t>(node.attributes.integer("index", 0));
    place(node.outputs[0],
          {Space::gradient, whole.offset + index * bytes_of(graph_.value(node.outputs[0]).type)});
  }

  // A compressed bucket lies where its gradients do: its terms, and later the vector that they are views of.
  void decode_gradients_in_place(const Node& node) {
    const std::optional<Location> bucket = location_of_views(node.outputs[0]);
    if (!bucket) return;
    place(node.outputs[0], *bucket);
    const std::vector<int> producer = producers(graph_);
    const auto maker = [&](ValueId id) -> const Node& {
      return graph_.nodes()[static_cast<std::size_t>(producer[static_cast<std::size_t>(id)])];
    };
    const Node& encode = maker(maker(node.inputs[0]).inputs[0]);
    const Node& pack = maker(encode.inputs[0]);
    place(pack.outputs[0], *bucket);
    const IntList begins = pack.attributes.list("begins");
    for (std::size_t i = 0; i < pack.inputs.size(); ++i) {
      const ValueInfo& terms = graph_.value(pack.inputs[i]);
      if (terms.role != Role::gradient || producer[static_cast<std::size_t>(pack.inputs[i])] >= 0) continue;
      const auto begin = static_cast<std::size_t>(begins[i]) * size_of(terms.type.dtype);
      place(pack.inputs[i], {bucket->space, bucket->offset + begin});
    }
  }

  // Where a vector would lie of which all views are gradients; nothing where these are not side by side.
  std::optional<Location> location_of_views(ValueId vector) const {
    std::optional<Location> found;
    for (const Node& node : graph_.nodes()) {
      if (node.op->name() != "view" || node.inputs[0] != vector) continue;
      const Location at = plan_.locations[static_cast<std::size_t>(node.outputs[0])];
      const auto begin = static_cast<std::size_t>(node.attributes.integer("begin", 0)) *
                         size_of(graph_.value(vector).type.dtype);
      const bool is_gradient =
          is_placed_[static_cast<std::size_t>(node.outputs[0])] && at.space == Space::gradient;
      if (!is_gradient || at.offset < begin) return std::nullopt;
      const Location start{at.space, at.offset - begin};
      if (found && !(*found == start)) return std::nullopt;
      found = start;
    }
    return found;
  }

  // What goes into a bucket is made there, unless it is a source or made in place of something else.
  void find_bundles() {
    const std::vector<int> producer = producers(graph_);
    for (const Node& node : graph_.nodes()) {
      if (node.op->name() != "pack") continue;
      const IntList begins = node.attributes.list("begins");
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const int maker = producer[static_cast<std::size_t>(node.inputs[i])];
        if (maker < 0 || is_alias(graph_, graph_.nodes()[static_cast<std::size_t>(maker)])) continue;
        const ValueInfo& value = graph_.value(node.inputs[i]);
        bundles_[node.inputs[i]] = {node.outputs[0],
                                    static_cast<std::size_t>(begins[i]) * size_of(value.type.dtype)};
      }
    }
  }

  void find_last_uses() {
    last_use_.assign(static_cast<std::size_t>(graph_.value_count()), -1);
    crosses_.assign(static_cast<std::size_t>(graph_.value_count()), false);
    const std::vector<int> producer = producers(graph_);
    const std::vector<Node>& nodes = graph_.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const ValueId id : nodes[i].inputs) {
        const auto value = static_cast<std::size_t>(id);
        last_use_[value] = static_cast<int>(i);
        if (producer[value] >= 0 && !run_together(nodes[static_cast<std::size_t>(producer[value])], nodes[i]))
          crosses_[value] = true;
      }
    }
    keep_messages();
    for (const auto& [name, id] : graph_.outputs()) {
      last_use_[static_cast<std::size_t>(id)] = kForever;
      crosses_[static_cast<std::size_t>(id)] = true;
    }
  }

  static bool run_together(const Node& a, const Node& b) { return a.phase == b.phase && a.stage == b.stage; }

  // What is received may arrive while other slots are worked on; what is sent may leave as late.
  void keep_messages() {
    is_sent_.assign(static_cast<std::size_t>(graph_.value_count()), false);
    for (const Node& node : graph_.nodes()) {
      if (node.op->name() == "receive") crosses_[static_cast<std::size_t>(node.outputs[0])] = true;
      if (node.op->name() != "send") continue;
      const auto value = static_cast<std::size_t>(node.inputs[0]);
      is_sent_[value] = crosses_[value] = true;
      last_use_[value] = kForever;
    }
  }

  void give_memory(ValueId id, const Node& node, int index) {
    const auto value = static_cast<std::size_t>(id);
    const ValueInfo& info = graph_.value(id);
    if (const auto bundle = bundles_.find(id); bundle != bundles_.end()) {
      give_memory_in(bundle->second, id, index);
      return;
    }
    plan_.activation_bytes += align_up(bytes_of(info.type));
    if (is_alias(graph_, node)) {
      const auto operand = static_cast<std::size_t>(node.inputs[0]);
      const std::size_t begin =
          node.op->name() == "view"
              ? static_cast<std::size_t>(node.attributes.integer("begin", 0)) * size_of(info.type.dtype)
              : 0;
      if (is_placed_[operand]) {
        place(id, {plan_.locations[operand].space, plan_.locations[operand].offset + begin});
        return;
      }
      join(value, block_of_[operand]);
      offset_in_block_[value] = offset_in_block_[operand] + begin;
    } else if (const int reused = reusable_block(id, node, index); reused >= 0) {
      join(value, reused);
    } else {
      start_block(value, index);
    }
  }

  void start_block(std::size_t value, int index) {
    block_of_[value] = static_cast<int>(blocks_.size());
    const std::size_t bytes = align_up(bytes_of(graph_.value(static_cast<ValueId>(value)).type));
    const int first = is_sent_[value] ? 0 : index;
    blocks_.push_back({first, std::max(index, last_use_[value]), bytes, crosses_[value], 0});
  }

  void give_memory_in(const Bundle& bundle, ValueId id, int index) {
    const auto whole = static_cast<std::size_t>(bundle.whole);
    if (is_placed_[whole]) {
      place(id, {plan_.locations[whole].space, plan_.locations[whole].offset + bundle.offset});
      return;
    }
    if (block_of_[whole] < 0) {
      start_block(whole, index);
      plan_.activation_bytes += align_up(bytes_of(graph_.value(bundle.whole).type));
    }
    join(static_cast<std::size_t>(id), block_of_[whole]);
    offset_in_block_[static_cast<std::size_t>(id)] = bundle.offset;
  }

  void join(std::size_t value, int block) {
    Block& home = blocks_[static_cast<std::size_t>(block)];
    home.last = std::max(home.last, last_use_[value]);
    home.crosses_phases = home.crosses_phases || crosses_[value];
    if (is_sent_[value]) home.first = 0;
    block_of_[value] = block;
  }

  // The block of an operand that may be written over, or -1.
  int reusable_block(ValueId id, const Node& node, int index) const {
    if (node.op->name() == "all_reduce") {
      const auto at = std::find(node.outputs.begin(), node.outputs.end(), id) - node.outputs.begin();
      const int block = block_of_[static_cast<std::size_t>(node.inputs[static_cast<std::size_t>(at)])];
      return block >= 0 && blocks_[static_cast<std::size_t>(block)].last == index ? block : -1;
    }
    if (std::find(kInPlace.begin(), kInPlace.end(), node.op->name()) == kInPlace.end()) return -1;
    const ValueInfo& output = graph_.value(id);
    for (const ValueId operand : node.inputs) {
      const int block = block_of_[static_cast<std::size_t>(operand)];
      const ValueInfo& input = graph_.value(operand);
      if (block < 0 || !(input.type == output.type) || input.layout != output.layout) continue;
      if (offset_in_block_[static_cast<std::size_t>(operand)] != 0) continue;
      if (std::count(node.inputs.begin(), node.inputs.end(), operand) > 1) continue;
      if (blocks_[static_cast<std::size_t>(block)].last == index) return block;
    }
    return -1;
  }

  std::size_t place_blocks(bool crossing) {
    std::vector<Block*> order;
    for (Block& block : blocks_) {
      if (block.crosses_phases == crossing) order.push_back(&block);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
    std::size_t total = 0;
    std::vector<const Block*> placed;  // By offset.
    for (Block* block : order) {
      block->offset = lowest_gap(*block, placed);
      total = std::max(total, block->offset + block->bytes);
      const auto at = std::upper_bound(placed.begin(), placed.end(), block,
                                       [](const Block* a, const Block* b) { return a->offset < b->offset; });
      placed.insert(at, block);
    }
    return total;
  }

  static std::size_t lowest_gap(const Block& block, const std::vector<const Block*>& placed) {
    std::size_t offset = 0;
    for (const Block* other : placed) {
      if (other->last < block.first || block.last < other->first) continue;
      if (offset + block.bytes <= other->offset) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    return offset;
  }

  const Graph& graph_;
  const StepLayouts& layouts_;
  MemoryPlan plan_;
  std::vector<bool> is_placed_;
  std::vector<int> block_of_;
  std::vector<std::size_t> offset_in_block_;
  std::unordered_map<ValueId, Bundle> bundles_;
  std::vector<int> last_use_;
  std::vector<bool> crosses_;
  std::vector<bool> is_sent_;
  std::vector<Block> blocks_;
};

}  // namespace

bool is_alias(const Graph& graph, const Node& node) {
  const ValueInfo& output = graph.value(node.outputs.empty() ? node.inputs[0] : node.outputs[0]);
  if (node.outputs.empty() || output.role == Role::gradient) return false;
  const Shape& shape = output.type.shape;
  if (node.op->name() == "view") return true;
  if (node.op->name() == "reshape") return graph.value(node.inputs[0]).layout == Layout::plain;
  if (node.op->name() == "to_layout") return shape[1] == 1 || shape[2] * shape[3] == 1;
  return false;
}

MemoryPlan plan_memory(const Graph& graph, const StepLayouts& layouts, std::span<const Gradient> gradients) {
  return Planner(graph, layouts, gradients).run();
}

}  // namespace hocket
