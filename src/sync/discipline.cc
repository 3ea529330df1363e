#include "sync/discipline.h"

#include <array>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "base/spec.h"
#include "sync/consistencies.h"
#include "sync/lbfgs.h"
#include "sync/peer_graph.h"

namespace hocket {
namespace {

constexpr std::string_view kWhat = "sync";
constexpr std::int64_t kMaxPortions = 1 << 20;

struct Kind {
  std::string_view name;
  DisciplineKind kind;
  SpecOptions::Defaults (*defaults)();
};

SpecOptions::Defaults no_options() { return {}; }
SpecOptions::Defaults ssp_options() { return {{"s", ""}, {"scale", "share"}, {"ahead", "0"}}; }
SpecOptions::Defaults asp_options() { return {{"scale", "share"}, {"ahead", "0"}}; }
SpecOptions::Defaults kofn_options() { return {{"k", ""}, {"late", "drop"}}; }
SpecOptions::Defaults softsync_options() { return {{"n", ""}, {"rate", "fixed"}, {"ahead", "0"}}; }
SpecOptions::Defaults downpour_options() {
  return {{"nfetch", "1"}, {"npush", "1"},     {"adagrad", "server"},
          {"warm", "0"},   {"scale", "share"}, {"ahead", "0"}};
}
SpecOptions::Defaults sandblaster_options() { return {{"portions", "64"}, {"history", "10"}}; }
SpecOptions::Defaults local_options() { return {{"tau", ""}}; }
SpecOptions::Defaults hogwild_options() { return {{"locked", "0"}, {"rows", "0"}}; }
SpecOptions::Defaults average_options() { return {{"steps", "0"}, {"lazy", "1"}}; }
SpecOptions::Defaults mapreduce_options() { return {{"cache", "0"}}; }
SpecOptions::Defaults adacomm_options() { return {{"tau0", ""}, {"every", ""}}; }

SpecOptions::Defaults gossip_options() { return {{"graph", "ring"}, {"spread", "0"}}; }
SpecOptions::Defaults pairs_options() { return {{"graph", "complete"}, {"spread", "0"}}; }

constexpr auto kKinds =
    std::to_array<Kind>({{"allreduce", DisciplineKind::allreduce, no_options},
                         {"ps:bsp", DisciplineKind::bsp, no_options},
                         {"ps:ssp", DisciplineKind::ssp, ssp_options},
                         {"ps:asp", DisciplineKind::asp, asp_options},
                         {"ps:kofn", DisciplineKind::kofn, kofn_options},
                         {"ps:softsync", DisciplineKind::softsync, softsync_options},
                         {"downpour", DisciplineKind::downpour, downpour_options},
                         {"sandblaster", DisciplineKind::sandblaster, sandblaster_options},
                         {"local", DisciplineKind::local, local_options},
                         {"hogwild", DisciplineKind::hogwild, hogwild_options},
                         {"adacomm", DisciplineKind::adacomm, adacomm_options},
                         {"average", DisciplineKind::average, average_options},
                         {"mllib", DisciplineKind::mllib, no_options},
                         {"mapreduce", DisciplineKind::mapreduce, mapreduce_options},
                         {"gossip", DisciplineKind::gossip, gossip_options},
                         {"gossip-async", DisciplineKind::gossip_async, pairs_options}});

const Kind& find_kind(std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(kKinds.size());
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  throw ConfigError("unknown sync {}{}", name, did_you_mean(name, names));
}

std::string_view name_of(DisciplineKind kind) {
  for (const Kind& entry : kKinds) {
    if (entry.kind == kind) return entry.name;
  }
  HOCKET_CHECK(false, "discipline {} has no name", static_cast<int>(kind));
}

// The options of one discipline, as read.
class Reader {
 public:
  Reader(const Spec& spec, SpecOptions::Defaults defaults)
      : name_(spec.name), options_(kWhat, spec, std::move(defaults)) {}

  std::int64_t count(std::string_view key, std::int64_t least, std::int64_t most) const {
    const std::int64_t value = count(key, least);
    if (value > most) throw ConfigError("sync {}: {}={} is more than {}", name_, key, value, most);
    return value;
  }
  std::int64_t count(std::string_view key, std::int64_t least) const {
    if (options_.text(key).empty()) throw ConfigError("sync {} needs {}=N", name_, key);
    const std::int64_t value = options_.integer(key);
    if (value < least) throw ConfigError("sync {}: {}={} is less than {}", name_, key, value, least);
    return value;
  }
  std::int64_t count_or_inf(std::string_view key) const {
    return options_.text(key) == "inf" ? Discipline::kUnbounded : count(key, 0);
  }
  // "30s", "200" steps, or nothing.
  AdaCommInterval interval(std::string_view key) const {
    const std::string text = options_.text(key);
    if (text.empty()) return {};
    if (!text.ends_with('s')) return {0, count(key, 1)};
    const std::optional<double> seconds = find_seconds(text);
    if (!seconds || *seconds <= 0)
      throw ConfigError("sync {}: {}={} is neither a time such as 30s nor a number of steps", name_, key,
                        text);
    return {*seconds, 0};
  }
  double scale() const {
    if (options_.text("scale") == "share") return 0;
    const double value = options_.real("scale");
    if (value == 0) throw ConfigError("sync {}: scale=0 would train nothing", name_);
    return value;
  }
  double real(std::string_view key) const { return options_.real(key); }
  std::string graph() const {
    const std::string name = options_.text("graph");
    try {
      require_peer_graph_name(name);
    } catch (const ConfigError& error) {
      throw ConfigError("sync {}: {}", name_, error.what());
    }
    return name;
  }
  // Whether the option is the second of two words.
  bool is_second(std::string_view key, std::string_view first, std::string_view second) const {
    const std::string word = options_.text(key);
    if (word == first || word == second) return word == second;
    const std::array<std::string_view, 2> words{first, second};
    throw ConfigError("sync {}: {}={} is neither {} nor {}{}", name_, key, word, first, second,
                      did_you_mean(word, words));
  }

 private:
  std::string name_;
  SpecOptions options_;
};

void read(Discipline& d, const Reader& reader) {
  const bool is_scaled =
      d.kind == DisciplineKind::ssp || d.kind == DisciplineKind::asp || d.kind == DisciplineKind::downpour;
  if (is_scaled) d.scale = reader.scale();
  if (is_scaled || d.kind == DisciplineKind::softsync) d.pulls_ahead = reader.is_second("ahead", "0", "1");
  if (d.kind == DisciplineKind::ssp) d.staleness = reader.count_or_inf("s");
  if (d.kind == DisciplineKind::kofn) {
    d.quorum = static_cast<int>(reader.count("k", 1));
    if (reader.is_second("late", "drop", "merge")) d.late = Discipline::Late::merge;
  }
  if (d.kind == DisciplineKind::softsync) {
    d.splits = static_cast<int>(reader.count("n", 1));
    if (reader.is_second("rate", "fixed", "staleness")) d.rate = Discipline::Rate::staleness;
  }
  if (d.kind == DisciplineKind::downpour) {
    d.fetch_every = static_cast<int>(reader.count("nfetch", 1));
    d.push_every = static_cast<int>(reader.count("npush", 1));
    d.warm_start = reader.count("warm", 0);
    if (reader.is_second("adagrad", "server", "worker")) d.adagrad = Discipline::AdaGradAt::worker;
  }
  if (d.kind == DisciplineKind::sandblaster) {
    d.portions = static_cast<int>(reader.count("portions", 1, kMaxPortions));
    d.history = static_cast<int>(reader.count("history", 1, kMaxHistory));
  }
  if (d.kind == DisciplineKind::local) d.period = reader.count("tau", 1);
  if (d.kind == DisciplineKind::hogwild) {
    d.is_locked = reader.count("locked", 0, 1) == 1;
    d.rows = reader.count("rows", 0);
  }
  if (d.is_gossip()) {
    d.graph = reader.graph();
    d.spread = reader.real("spread");
  }
  if (d.kind == DisciplineKind::adacomm) {
    d.period = reader.count("tau0", 1);
    d.interval = reader.interval("every");
  }
  if (d.kind == DisciplineKind::average) {
    d.period = reader.count("steps", 0);
    d.is_lazy = reader.is_second("lazy", "0", "1");
  }
  if (d.kind == DisciplineKind::mapreduce) d.caches = reader.is_second("cache", "0", "1");
}

}  // namespace

Discipline Discipline::parse(std::string_view text) {
  const Spec spec = Spec::parse(kWhat, text);
  const Kind& found = find_kind(spec.name);
  Discipline discipline;
  discipline.kind = found.kind;
  read(discipline, Reader(spec, found.defaults()));
  if (discipline.pulls_ahead && (discipline.is_lockstep() || discipline.fetch_every > 1))
    throw ConfigError("sync {}: ahead=1 does not go with s=0, nor with nfetch above 1", discipline.text());
  return discipline;
}

std::string Discipline::text() const {
  std::string result{name_of(kind)};
  const auto add = [&](std::string_view key, const auto& value) {
    result += fmt::format(",{}={}", key, value);
  };
  if (kind == DisciplineKind::ssp && staleness == kUnbounded) add("s", "inf");
  if (kind == DisciplineKind::ssp && staleness != kUnbounded) add("s", staleness);
  if (kind == DisciplineKind::kofn) add("k", quorum);
  if (late == Late::merge) add("late", "merge");
  if (kind == DisciplineKind::softsync) add("n", splits);
  if (rate == Rate::staleness) add("rate", "staleness");
  if (kind == DisciplineKind::downpour) {
    add("nfetch", fetch_every);
    add("npush", push_every);
    add("adagrad", adagrad == AdaGradAt::server ? "server" : "worker");
    if (warm_start > 0) add("warm", warm_start);
  }
  if (kind == DisciplineKind::sandblaster && portions != Discipline().portions) add("portions", portions);
  if (kind == DisciplineKind::sandblaster && history != Discipline().history) add("history", history);
  if (kind == DisciplineKind::local) add("tau", period);
  if (is_locked) add("locked", 1);
  if (rows > 0) add("rows", rows);
  if (is_gossip()) add("graph", graph);
  if (spread > 0) add("spread", spread);
  if (kind == DisciplineKind::adacomm) add("tau0", period);
  if (kind == DisciplineKind::average && period > 0) add("steps", period);
  if (kind == DisciplineKind::average && !is_lazy) add("lazy", 0);
  if (caches) add("cache", 1);
  if (interval.seconds > 0) add("every", fmt::format("{}s", interval.seconds));
  if (interval.steps > 0) add("every", interval.steps);
  if (scale > 0) add("scale", scale);
  if (pulls_ahead) add("ahead", 1);
  return result;
}

void Discipline::require_fit(int workers) const {
  if (kind == DisciplineKind::kofn && quorum > workers) {
    throw ConfigError("sync {}: k={} of {} workers is more than there are", text(), quorum, workers);
  }
  if (kind == DisciplineKind::softsync && splits > workers) {
    throw ConfigError("sync {}: n={} is more than there are workers ({})", text(), splits, workers);
  }
}

MakeConsistency make_consistency(const Discipline& discipline, int workers) {
  discipline.require_fit(workers);
  const Discipline d = discipline;
  const double weight = d.scale > 0 ? d.scale * workers : 1;
  switch (d.kind) {
    case DisciplineKind::bsp: return [=] { return make_bsp(workers); };
    case DisciplineKind::ssp:
      if (d.staleness == 0) return [=] { return make_bsp(workers); };
      return [=] { return make_ssp(workers, d.staleness, weight); };
    case DisciplineKind::asp:
    case DisciplineKind::downpour: return [=] { return make_asp(weight); };
    case DisciplineKind::kofn: return [=] { return make_kofn(workers, d.quorum, d.late); };
    case DisciplineKind::softsync: return [=] { return make_softsync(workers, d.splits, d.rate); };
    case DisciplineKind::allreduce:
    case DisciplineKind::sandblaster:
    case DisciplineKind::local:
    case DisciplineKind::hogwild:
    case DisciplineKind::gossip:
    case DisciplineKind::gossip_async:
    case DisciplineKind::adacomm:
    case DisciplineKind::average:
    case DisciplineKind::mllib:
    case DisciplineKind::mapreduce: break;
  }
  HOCKET_CHECK(false, "{} pushes no gradients", d.text());
}

WorkerOptions worker_options(const Discipline& discipline, WorkerOptions options) {
  options.fetch_every = discipline.fetch_every;
  options.push_every = discipline.push_every;
  options.pulls_ahead = discipline.pulls_ahead;
  options.takes_over = discipline.is_lockstep();
  options.follows = discipline.kind == DisciplineKind::kofn;
  options.warm_start = discipline.warm_start;
  return options;
}

}  // namespace hocket
