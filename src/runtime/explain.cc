#include "runtime/explain.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"

namespace hocket {
namespace {

std::uint64_t sent_bytes(Collective collective, std::size_t bytes, std::size_t ranks) {
  const std::uint64_t share = bytes / ranks * (ranks - 1);
  return collective == Collective::all_reduce ? 2 * share : share;
}

// "a", "a, b", or "a … z (9 in all)".
std::string list_of(const std::vector<std::string>& names) {
  if (names.size() <= 2) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} … {} ({} in all)", names.front(), names.back(), names.size());
}

class Explainer {
 public:
  Explainer(const PlacedStep& step, const ProgramOptions& options)
      : step_(step), options_(options), graph_(*step.placed.graph) {
    for (const Conversion& conversion : step.placed.conversions)
      conversions_[conversion.result] = &conversion;
    const std::vector<ValueId> parameters = graph_.values_of(Role::parameter);
    for (std::size_t i = 0; i < step.placed.gradients.size(); ++i) {
      const Gradient& gradient = step.placed.gradients[i];
      if (gradient.value) parameters_[gradient.value.id()] = graph_.value(parameters[i]).name;
    }
    for (const FlatBucket& bucket : step.buckets) flat_buckets_[bucket.name] = &bucket;
  }

  StepExplanation run() {
    for (const FlatBucket& bucket : step_.buckets) add_bucket(bucket);
    for (const Node& node : graph_.nodes()) {
      if (const auto collective = CollectiveKernel::collective_of(node)) add(node, *collective);
    }
    measure();
    return std::move(result_);
  }

 private:
  void add_bucket(const FlatBucket& bucket) {
    StepBucket& added = result_.buckets.emplace_back();
    added.name = bucket.name;
    for (const FlatMember& member : bucket.members) added.parameters.push_back(member.name);
    added.slice_bytes = static_cast<std::size_t>(bucket.slice) * size_of(bucket.dtype);
    added.bytes = added.slice_bytes * static_cast<std::size_t>(options_.place.mesh.size_of("dp"));
  }

  void add(const Node& node, Collective collective) {
    StepCollective added;
    added.phase = node.phase;
    added.collective = collective;
    added.times = node.phase == Phase::update ? 1 : options_.micro_batches;
    added.axis = node.attributes.text("axis", "");
    added.ranks = options_.place.mesh.members(options_.place.rank, added.axis);
    const bool grows = collective == Collective::all_gather && !node.outputs.empty();
    for (const ValueId id : grows ? node.outputs : node.inputs)
      added.bytes += bytes_of(graph_.value(id).type);
    added.type = graph_.value(grows ? node.outputs[0] : node.inputs[0]).type;
    if (node.inputs.size() > 1)
      added.type.shape = {static_cast<std::int64_t>(added.bytes / size_of(added.type.dtype))};
    added.sent_bytes = sent_bytes(collective, added.bytes, added.ranks.size());
    give_reason(node, added);
    result_.collectives.push_back(std::move(added));
  }

  void give_reason(const Node& node, StepCollective& added) {
    if (const FlatBucket* bucket = bucket_of(node)) return give_reason(*bucket, added);
    if (std::vector<std::string> members = compressed_members(node); !members.empty()) {
      added.from = to_string(Partial{});
      added.to = to_string(Replicated{});
      added.value = "compressed gradient of " + list_of(members);
      added.reader = "their updates";
      result_.buckets.push_back({node.name, std::move(members), added.bytes, 0});
      return;
    }
    std::vector<std::string> summed;  // The parameters whose gradients it sums.
    for (const ValueId id : node.outputs) {
      if (const auto at = parameters_.find(id); at != parameters_.end()) summed.push_back(at->second);
    }
    const auto at = conversions_.find(graph_.value(node.outputs[0]).name);
    HOCKET_CHECK(at != conversions_.end(), "node {}: nobody asked for it", node.name);
    const Conversion& conversion = *at->second;
    added.from = to_string(conversion.from);
    added.to = to_string(conversion.to);
    added.value = summed.empty() ? conversion.value : "gradient of " + list_of(summed);
    added.reader = summed.size() > 1 ? "their updates" : conversion.reader;
    if (summed.size() > 1) result_.buckets.push_back({node.name, std::move(summed), added.bytes, 0});
  }

  void give_reason(const FlatBucket& bucket, StepCollective& added) const {
    const bool sums = added.collective == Collective::reduce_scatter;
    added.value = sums ? bucket.name + ".gradient" : bucket.name;
    added.from = sums ? to_string(Partial{}) : to_string(Flat{});
    added.to = sums ? to_string(Flat{}) : to_string(Replicated{});
    added.reader = sums                           ? "its update"
                   : added.phase == Phase::update ? "the next step"
                                                  : first_reader(bucket);
  }

  static std::string first_reader(const FlatBucket& bucket) {
    std::vector<std::string> members;
    for (const FlatMember& member : bucket.members) members.push_back(member.name);
    return list_of(members);
  }

  // The parameters whose gradients are decoded from what the node brings.
  std::vector<std::string> compressed_members(const Node& node) const {
    std::vector<std::string> members;
    if (node.outputs.empty()) return members;
    ValueId vector = kNoValue;
    for (const Node& reader : graph_.nodes()) {
      if (reader.op->name() == "decode" && reader.inputs[0] == node.outputs[0]) vector = reader.outputs[0];
      if (reader.op->name() != "view" || reader.inputs[0] != vector) continue;
      if (const auto at = parameters_.find(reader.outputs[0]); at != parameters_.end())
        members.push_back(at->second);
    }
    return members;
  }

  // The bucket that the node gathers, or whose gradients it sums.
  const FlatBucket* bucket_of(const Node& node) const {
    std::string name = graph_.value(node.inputs[0]).name;
    constexpr std::string_view kGradient = ".gradient";
    if (name.ends_with(kGradient)) name.resize(name.size() - kGradient.size());
    const auto at = flat_buckets_.find(name);
    return at == flat_buckets_.end() ? nullptr : at->second;
  }

  void measure() {
    const StepLayouts layouts(graph_, step_.placed.gradients);
    const MemoryPlan plan = plan_memory(graph_, layouts, step_.placed.gradients);
    StepFootprint& footprint = result_.footprint;
    footprint.parameters = layouts.parameters.bytes();
    footprint.gradients = layouts.gradients.bytes();
    footprint.buffers = layouts.buffers.bytes();
    footprint.state = layouts.state.bytes();
    footprint.activations = plan.slot_bytes + plan.work_bytes;
    const StepCollective* before = nullptr;  // A bucket is gathered while the one before it is in use.
    for (const StepCollective& collective : result_.collectives) {
      const bool gathers_bucket =
          collective.collective == Collective::all_gather && flat_buckets_.contains(collective.value);
      if (!gathers_bucket || collective.phase == Phase::update) continue;
      const bool is_second = before != nullptr && before->phase == collective.phase;
      footprint.gathered =
          std::max(footprint.gathered, collective.bytes + (is_second ? before->bytes : std::size_t{0}));
      before = &collective;
    }
  }

  const PlacedStep& step_;
  const ProgramOptions& options_;
  const Graph& graph_;
  std::unordered_map<std::string, const Conversion*> conversions_;   // By what they make.
  std::unordered_map<ValueId, std::string> parameters_;              // By gradient.
  std::unordered_map<std::string, const FlatBucket*> flat_buckets_;  // By name.
  StepExplanation result_;
};

}  // namespace

StepExplanation explain_step(const PlacedStep& step, const ProgramOptions& options) {
  return Explainer(step, options).run();
}

std::map<std::pair<std::string, Phase>, StepTotal> totals_of(const StepExplanation& step) {
  std::map<std::pair<std::string, Phase>, StepTotal> totals;
  for (const StepCollective& collective : step.collectives) {
    StepTotal& total = totals[{collective.axis, collective.phase}];
    total.count += collective.times;
    total.sent_bytes += static_cast<std::uint64_t>(collective.times) * collective.sent_bytes;
  }
  return totals;
}

StepPrice price_of(const StepExplanation& step, MeshPrices& prices) {
  StepPrice sum;
  for (const StepCollective& collective : step.collectives) {
    const MeshPrice& price = prices.price(collective.collective, collective.bytes, collective.axis);
    const auto times = static_cast<std::uint64_t>(collective.times);
    sum.seconds += collective.times * price.seconds;
    sum.host_bytes += times * price.bytes[static_cast<std::size_t>(Level::host)];
    sum.rack_bytes += times * price.bytes[static_cast<std::size_t>(Level::rack)];
  }
  return sum;
}

}  // namespace hocket
