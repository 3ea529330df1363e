#include "graph/cut_stages.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "graph/operators/operands.h"
#include "graph/stages.h"

namespace hocket {
namespace {

// A value that another rank than its maker's reads.
struct Crossing {
  ValueId value = kNoValue;
  int maker = 0;  // Its node.
  int from = 0;   // Stages.
  int to = 0;
  Phase phase = Phase::forward;  // In which it is received.
};

struct Reader {
  Phase phase;
  int stage;
};

class StageCutter {
 public:
  StageCutter(const PlacedGraph& step, const PipelineCut& cut)
      : step_(step), whole_(*step.graph), cut_(cut), producers_(producers(whole_)) {
    result_.placed.graph = std::make_unique<Graph>();
    result_.placed.sources = step.sources;
    result_.placed.conversions = step.conversions;
    find_readers();
    find_crossings();
  }

  RankGraph run() {
    add_sources();
    for (std::size_t i = 0; i < whole_.nodes().size(); ++i) {
      const Node& node = whole_.nodes()[i];
      if (!is_mine(node.stage)) continue;
      begin_group(node);
      add_node(static_cast<int>(i), node);
    }
    for (const auto& [name, id] : whole_.outputs()) {
      if (const auto at = own_.find(id); at != own_.end()) graph().set_output(name, at->second);
    }
    add_gradients();
    graph().set_phase(Phase::forward);
    graph().set_stage(0);
    return std::move(result_);
  }

 private:
  Graph& graph() { return *result_.placed.graph; }
  int rank_of(int stage) const { return stage % cut_.ranks; }
  bool is_mine(int stage) const { return stage == kEveryStage || rank_of(stage) == cut_.rank; }

  void find_readers() {
    readers_.resize(static_cast<std::size_t>(whole_.value_count()));
    for (const Node& node : whole_.nodes()) {
      for (const ValueId id : node.inputs) {
        if (node.stage != kEveryStage)
          readers_[static_cast<std::size_t>(id)].push_back({node.phase, node.stage});
      }
    }
  }

  // In the order of their makers.
  void find_crossings() {
    for (std::size_t i = 0; i < whole_.nodes().size(); ++i) {
      const Node& node = whole_.nodes()[i];
      if (node.stage == kEveryStage) continue;
      for (const ValueId id : node.outputs) {
        for (int rank = 0; rank < cut_.ranks; ++rank) {
          if (rank != rank_of(node.stage)) find_crossing(static_cast<int>(i), id, rank);
        }
      }
    }
  }

  // The first to read it receives it.
  void find_crossing(int maker, ValueId id, int rank) {
    const Node& node = whole_.nodes()[static_cast<std::size_t>(maker)];
    const Reader* first = nullptr;
    for (const Reader& reader : readers_[static_cast<std::size_t>(id)]) {
      if (rank_of(reader.stage) != rank) continue;
      const bool is_earlier =
          first == nullptr || reader.phase < first->phase ||
          (reader.phase == first->phase &&
           (reader.phase == Phase::forward ? reader.stage < first->stage : reader.stage > first->stage));
      if (is_earlier) first = &reader;
    }
    if (first == nullptr) return;
    HOCKET_CHECK(first->phase != Phase::update, "{} travels between stages in an update",
                 whole_.value(id).name);
    if (first->phase == node.phase) {
      const bool is_onward =
          node.phase == Phase::forward ? node.stage < first->stage : node.stage > first->stage;
      HOCKET_CHECK(is_onward, "{} goes from stage {} to {}", whole_.value(id).name, node.stage, first->stage);
    }
    crossings_.push_back({id, maker, node.stage, first->stage, first->phase});
  }

  // Sent and received in forward, sent in forward and received in backward, or both in backward.
  int channel_of(const Crossing& crossing) const {
    const Phase sent = whole_.nodes()[static_cast<std::size_t>(crossing.maker)].phase;
    const int kind = crossing.phase == Phase::forward ? 0 : sent == Phase::forward ? 1 : 2;
    const int chunks = cut_.chunks;
    return 1 + (kind * chunks + crossing.from / cut_.ranks) * chunks + crossing.to / cut_.ranks;
  }

  bool is_read_here(ValueId id) const {
    const auto& readers = readers_[static_cast<std::size_t>(id)];
    return std::any_of(readers.begin(), readers.end(),
                       [&](const Reader& reader) { return is_mine(reader.stage); });
  }

  void add_sources() {
    for (ValueId id = 0; id < whole_.value_count(); ++id) {
      if (producers_[static_cast<std::size_t>(id)] >= 0) continue;
      ValueInfo info = whole_.value(id);
      if (info.role == Role::parameter) note_copies(id, info);
      if (!is_read_here(id)) continue;
      if (info.role == Role::parameter && rank_of(home_stage(whole_, id)) != cut_.rank)
        info.role = Role::input;
      add_own(id, graph().source(info.name, info.type, info.role, info.attributes));
    }
  }

  void note_copies(ValueId id, const ValueInfo& info) {
    ParameterCopy copy{info.name, info.type, rank_of(home_stage(whole_, id)), {}};
    for (const Reader& reader : readers_[static_cast<std::size_t>(id)]) {
      const int rank = rank_of(reader.stage);
      if (rank != copy.owner &&
          std::find(copy.readers.begin(), copy.readers.end(), rank) == copy.readers.end())
        copy.readers.push_back(rank);
    }
    if (!copy.readers.empty()) result_.copies.push_back(std::move(copy));
  }

  void add_own(ValueId id, Value own) {
    own_.emplace(id, own);
    if (const auto at = step_.placements.find(id); at != step_.placements.end())
      result_.placed.placements[own.id()] = at->second;
  }

  // Everything that a phase of a chunk receives stands at its beginning.
  void begin_group(const Node& node) {
    if (node.stage == kEveryStage || (node.phase == phase_ && node.stage == stage_)) return;
    phase_ = node.phase;
    stage_ = node.stage;
    if (node.phase == Phase::update) return;
    graph().set_phase(node.phase);
    graph().set_stage(node.stage / cut_.ranks);
    for (const Crossing& crossing : crossings_) {
      if (crossing.to != node.stage || crossing.phase != node.phase) continue;
      const ValueInfo& info = whole_.value(crossing.value);
      add_own(crossing.value, graph().add("receive", {},
                                          {{"peer", rank_of(crossing.from)},
                                           {"channel", channel_of(crossing)},
                                           {"dtype", std::string(name_of(info.type.dtype))},
                                           {"shape", dims_of(info.type.shape)}},
                                          info.name));
    }
  }

  void add_node(int index, const Node& node) {
    graph().set_phase(node.phase);
    graph().set_stage(node.phase == Phase::update || node.stage == kEveryStage ? 0 : node.stage / cut_.ranks);
    if (node.op->name() == "square_sums") return add_square_sums(node);
    std::vector<Value> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(own_.at(id));
    const std::vector<Value> outputs = graph().apply(node.op->name(), inputs, node.attributes, node.name);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      graph().value(outputs[i].id()).role = whole_.value(node.outputs[i]).role;
      add_own(node.outputs[i], outputs[i]);
    }
    for (const Crossing& crossing : crossings_) {
      if (crossing.maker == index) add_send(crossing);
    }
  }

  void add_send(const Crossing& crossing) {
    const Value value = own_.at(crossing.value);
    graph().apply("send", std::vector<Value>{value},
                  {{"peer", rank_of(crossing.to)}, {"channel", channel_of(crossing)}},
                  "send." + value.info().name);
  }

  // Of the gradients here; the others' blocks are zero, and the sum over all ranks has all of them.
  void add_square_sums(const Node& node) {
    const IntList begins = node.attributes.list("begins");
    std::vector<Value> inputs;
    IntList own_begins;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto at = own_.find(node.inputs[i]);
      if (at == own_.end()) continue;
      inputs.push_back(at->second);
      own_begins.push_back(begins[i]);
    }
    if (inputs.empty())
      throw ConfigError("a stage without parameters has no gradients to clip; give each stage a layer");
    Attributes attributes = node.attributes;
    attributes.set("begins", own_begins);
    const Value own = graph().apply("square_sums", inputs, attributes, node.name + ".own")[0];
    add_own(node.outputs[0],
            graph().add("all_reduce", {own}, {{"axis", "pp"}, {"ranks", cut_.ranks}, {"reduction", "sum"}},
                        node.name));
  }

  void add_gradients() {
    const std::vector<ValueId> parameters = whole_.values_of(Role::parameter);
    for (std::size_t i = 0; i < step_.gradients.size(); ++i) {
      const auto parameter = own_.find(parameters[i]);
      if (parameter == own_.end() || parameter->second.info().role != Role::parameter) continue;
      const Gradient& gradient = step_.gradients[i];
      result_.placed.gradients.push_back({own_value(gradient.value), own_value(gradient.row_ids)});
    }
  }

  Value own_value(const Value& value) const { return value ? own_.at(value.id()) : Value(); }

  const PlacedGraph& step_;
  const Graph& whole_;
  const PipelineCut& cut_;
  std::vector<int> producers_;
  std::vector<std::vector<Reader>> readers_;  // By value.
  std::vector<Crossing> crossings_;
  std::unordered_map<ValueId, Value> own_;  // From values of the whole to those of this rank.
  RankGraph result_;
  Phase phase_ = Phase::forward;  // Of the group that nodes are being added to.
  int stage_ = -1;
};

}  // namespace

int channel_count(int chunks) { return 1 + 3 * chunks * chunks; }

void sort_by_stage(Graph& graph) {
  const auto order = [](const Node& node) {
    return node.phase == Phase::forward ? node.stage : node.phase == Phase::backward ? -node.stage : 0;
  };
  std::stable_sort(graph.nodes().begin(), graph.nodes().end(), [&](const Node& a, const Node& b) {
    return a.phase != b.phase ? a.phase < b.phase : order(a) < order(b);
  });
}

RankGraph cut_stages(const PlacedGraph& step, const PipelineCut& cut) { return StageCutter(step, cut).run(); }

}  // namespace hocket
