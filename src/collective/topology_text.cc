#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/quantity.h"
#include "base/spec.h"
#include "collective/topology.h"

namespace hocket {
namespace {

std::string edge_text(const LinkEdge& edge) {
  std::string text;
  if (edge.alpha > 0) text += ", alpha " + seconds_text(edge.alpha);
  if (edge.beta > 0) text += ", " + rate_text(1 / edge.beta);
  if (edge.shared_beta > 0 && edge.shared_beta != edge.beta) {
    text += ", its ranks share " + rate_text(1 / edge.shared_beta);
  } else if (edge.shared_beta > 0) {
    text += " that its ranks share";
  }
  return text;
}

// The lines of a node without its number, and of all that is below it.
std::string node_text(const Topology& topology, int level, int node, const std::vector<Rank>& ranks);

std::string indented(const std::string& text) {
  std::string result;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start) + 1;
    result += "  " + text.substr(start, end - start);
    start = end;
  }
  return result;
}

// The nodes of `level` that `ranks` are below of, runs of equal ones once.
std::string nodes_text(const Topology& topology, int level, const std::vector<Rank>& ranks) {
  const Level kind = static_cast<Level>(level);
  std::map<int, std::vector<Rank>> members;
  for (const Rank rank : ranks) members[topology.node_of(kind, rank)].push_back(rank);
  std::string text;
  std::string last;
  int run = 0;
  const auto flush = [&] {
    if (run > 0) text += fmt::format("{} {}{}{}", run, name_of(kind), run > 1 ? "s" : "", last);
    run = 0;
  };
  for (const auto& entry : members) {
    const std::string next = node_text(topology, level, entry.first, entry.second);
    if (next != last) flush();
    last = next;
    ++run;
  }
  flush();
  return text;
}

std::string node_text(const Topology& topology, int level, int node, const std::vector<Rank>& ranks) {
  const std::string own = edge_text(topology.edge(static_cast<Level>(level), node)) + '\n';
  return level == 0 ? own : own + indented(nodes_text(topology, level - 1, ranks));
}

double required(std::optional<double> value, std::string_view text, std::string_view expected) {
  if (!value) throw ConfigError("topology {}: expected {}", text, expected);
  return *value;
}

Topology open_uniform(std::string_view text, int world) {
  std::string spec_text(text);
  std::replace(spec_text.begin(), spec_text.end(), ':', ',');
  const Spec spec = Spec::parse("topology", spec_text);
  const SpecOptions given("topology", spec,
                          {{"alpha", "50us"},
                           {"bandwidth", "10Gbit"},
                           {"rack", "0"},
                           {"rack_alpha", "0"},
                           {"oversubscription", "1"},
                           {"order", "block"}});
  UniformOptions options;
  const double rate = required(find_bytes_per_second(given.text("bandwidth")), text, "bandwidth=10Gbit");
  if (rate < 1) throw ConfigError("topology {}: expected at least one byte a second", text);
  options.link.alpha = Seconds(required(find_seconds(given.text("alpha")), text, "alpha=20us"));
  options.link.beta = 1 / rate;
  options.rack = static_cast<int>(given.integer("rack"));
  options.rack_alpha = Seconds(required(find_seconds(given.text("rack_alpha")), text, "rack_alpha=20us"));
  options.oversubscription = std::max(given.real("oversubscription"), 1.0);
  if (given.text("order") == "cyclic") {
    options.order = RankOrder::cyclic;
  } else if (given.text("order") != "block") {
    throw ConfigError("topology {}: expected order=block or order=cyclic", text);
  }
  return uniform_topology(world, options);
}

}  // namespace

std::string to_text(const Topology& topology) {
  std::vector<Rank> ranks(static_cast<std::size_t>(topology.world()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return nodes_text(topology, kLevels - 1, ranks);
}

Topology open_topology(std::string_view text, int world) {
  if (text == "this") return detect_topology(world);
  if (text == "uniform" || text.starts_with("uniform:")) return open_uniform(text, world);
  return load_topology(text).first(world);
}

}  // namespace hocket
