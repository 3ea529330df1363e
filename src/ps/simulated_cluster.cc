#include "ps/simulated_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "ps/simulated_processes.h"
#include "ps/simulation_witness.h"

namespace hocket {
namespace {

constexpr Seconds kTick{0.02};
constexpr Seconds kSettling{3.0};  // From the end of training until all replicas must be equal.

class SimulatedCluster {
 public:
  explicit SimulatedCluster(const SimulationOptions& options)
      : options_(options),
        random_({options.seed, 2}),
        witness_(options.ranges, options.timing.lease),
        network_(options.seed, options.faults.messages, events_,
                 [this](const NodeId& from, const NodeId& to, const Message& message) {
                   deliver(from, to, message);
                 }),
        send_([this](const NodeId& from, const NodeId& to, const Message& message) {
          witness_.see(from, to, message, epoch_of(from), events_.now());
          network_.send(from, to, message);
        }) {
    replica_options_.workers = options.workers;
    replica_options_.make_consistency = options.make_consistency;
    replica_options_.hyper = [](std::int64_t, double) { return Hyper{}; };
    replica_options_.make_store = [](const Init&) { return std::make_unique<LedgerStore>(); };
    report_.seed = options.seed;
  }

  SimulationReport run() {
    start_all();
    plan_faults();
    const TimePoint limit = later(events_.now(), options_.patience);
    while (!recorder_->is_over() && events_.now() < limit && events_.run_next()) {
    }
    if (!recorder_->is_over()) {
      witness_.fail(fmt::format("training has not ended after {} s: {}", options_.patience.count(), state()));
    } else {
      settle();
      check();
    }
    return report();
  }

 private:
  struct Place {
    std::unique_ptr<SimulatedProcess> process;
    int life = 0;
    bool is_for_good = false;  // Left, and does not come back.
  };

  void start_all() {
    start(kCoordinator);
    for (int server = 0; server < options_.servers; ++server) start(server_node(server));
    for (int worker = 0; worker < options_.workers; ++worker) start(worker_node(worker));
    auto recorder = std::make_unique<RecorderProcess>(options_.batches, options_.timing, send_);
    recorder_ = recorder.get();
    places_[kRecorder].process = std::move(recorder);
    tick(kRecorder, 0);
  }

  void start(const NodeId& node) {
    Place& place = places_[node];
    if (place.process || place.is_for_good) return;
    ++place.life;
    place.process = make_process(node, place.life);
    if (node.kind == NodeKind::server) leaving_.erase(node.index);
    tick(node, place.life);
  }

  std::unique_ptr<SimulatedProcess> make_process(const NodeId& node, int life) {
    if (node.kind == NodeKind::coordinator) {
      const ServerCoordinatorOptions own{options_.servers, options_.workers, options_.replicas,
                                         options_.ranges, options_.timing};
      return std::make_unique<CoordinatorProcess>(own, disk_, send_, events_.now());
    }
    if (node.kind == NodeKind::server)
      return std::make_unique<ServerProcess>(node.index, replica_options_, options_.timing, send_);
    WorkerOptions own = options_.worker;
    own.worker = node.index;
    own.workers = options_.workers;
    own.batches = options_.batches;
    gradients_.emplace_back(static_cast<std::size_t>(options_.ranges) * (own.pulls_ahead ? 2 : 1));
    return std::make_unique<WorkerProcess>(
        own, options_.ranges, options_.timing, gradients_.back(), last_id_,
        [this, node, life](const Worker::Task&) { compute(node, life); }, send_);
  }

  void compute(const NodeId& worker, int life) {
    events_.in(options_.compute * random_.uniform(0.5, 1.5), [this, worker, life] {
      if (SimulatedProcess* process = find(worker, life))
        static_cast<WorkerProcess*>(process)->on_gradient(events_.now());
    });
  }

  SimulatedProcess* find(const NodeId& node, int life) {
    const Place& place = places_[node];
    return place.life == life ? place.process.get() : nullptr;
  }

  void tick(const NodeId& node, int life) {
    SimulatedProcess* process = find(node, life);
    if (process == nullptr) return;
    process->on_time(events_.now());
    events_.in(kTick, [this, node, life] { tick(node, life); });
  }

  void deliver(const NodeId& from, const NodeId& to, const Message& message) {
    const Place& place = places_[to];
    if (place.process) place.process->on_message(from, message, events_.now());
    if (to == kCoordinator) view_ = coordinator_view();
  }

  View coordinator_view() {
    const auto* coordinator = static_cast<CoordinatorProcess*>(places_[kCoordinator].process.get());
    return coordinator == nullptr ? view_ : coordinator->view();
  }

  std::int64_t epoch_of(const NodeId& node) {
    if (node.kind != NodeKind::server) return 0;
    const Server* server = find_server(node.index);
    return server == nullptr ? 0 : server->view().epoch;
  }

  Server* find_server(int server) {
    auto* process = static_cast<ServerProcess*>(places_[server_node(server)].process.get());
    return process == nullptr ? nullptr : &process->server();
  }

  // Faults come at random moments, each kind on its own, until they end.
  void plan_faults() {
    const ClusterFaults& faults = options_.faults;
    const auto plan = [&](double rate, auto what) {
      double time = 0.7;
      while (rate > 0) {
        time += -std::log(1 - random_.uniform()) / rate;
        if (time >= faults.until.count()) return;
        events_.in(Seconds(time), what);
      }
    };
    if (options_.replicas > 1) plan(faults.server_kills, [this] { kill_server(); });
    plan(faults.worker_kills, [this] { kill_worker(); });
    plan(faults.coordinator_kills, [this] { kill_coordinator(); });
    plan(faults.partitions, [this] { cut(); });
    plan(faults.moves, [this] { move(); });
    events_.in(faults.until, [this] { network_.end_faults(); });
  }

  void kill(const NodeId& node, Seconds longest_restart) {
    Place& place = places_[node];
    place.process.reset();
    events_.in(longest_restart * random_.uniform(0.1, 1.0), [this, node] { start(node); });
  }

  void kill_server() {
    const int server = static_cast<int>(random_.below(static_cast<std::uint64_t>(servers_)));
    if (!find_server(server) || is_last_of_any(server)) return;
    note_kill(server);
    ++report_.server_kills;
    kill(server_node(server), options_.faults.longest_restart);
  }

  void kill_worker() {
    int running = 0;
    for (int worker = 0; worker < options_.workers; ++worker)
      running += places_[worker_node(worker)].process != nullptr;
    const int worker = static_cast<int>(random_.below(static_cast<std::uint64_t>(options_.workers)));
    if (running < 2 || !places_[worker_node(worker)].process) return;
    note_kill(-1);
    ++report_.worker_kills;
    kill(worker_node(worker), options_.faults.longest_restart);
  }

  void kill_coordinator() {
    if (!places_[kCoordinator].process) return;
    note_kill(-1);
    ++report_.coordinator_kills;
    kill(kCoordinator, options_.faults.longest_coordinator_restart);
  }

  // All that goes wrong at `server`, or everywhere, is to be made good soon.
  void note_kill(int server) {
    view_ = coordinator_view();
    for (RangeId range = 0; range < static_cast<RangeId>(view_.chains.size()); ++range) {
      const auto& chain = view_.chains[static_cast<std::size_t>(range)].servers;
      if (server < 0 || std::find(chain.begin(), chain.end(), server) != chain.end())
        kills_.emplace_back(range, events_.now());
    }
  }

  // Whether one range would lose as many replicas at once as it must have.
  bool is_last_of_any(int server) {
    view_ = coordinator_view();
    for (std::size_t range = 0; range < view_.chains.size(); ++range) {
      const auto& chain = view_.chains[range].servers;
      if (std::find(chain.begin(), chain.end(), server) == chain.end()) continue;
      int lost = 1, staying = 0;
      for (const std::int32_t other : chain) {
        const Server* process = find_server(other);
        const bool is_leaving = leaving_.contains(other);
        staying += !is_leaving;
        const bool is_there = process && process->replica(static_cast<RangeId>(range)) && !is_cut_off(other);
        lost += other != server && !is_leaving && !is_there;
      }
      if (lost >= std::min(options_.replicas, staying)) return true;
    }
    return false;
  }

  bool is_cut_off(int server) const { return events_.now() < cut_until_ && cut_off_.contains(server); }

  // For the coordinator a server that it does not hear is dead: while one is, no other is cut off from it.
  void cut() {
    if (events_.now() < cut_until_) return;
    const bool is_any_down = is_any_server_down();
    std::set<NodeId> side;
    for (const auto& [node, place] : places_) {
      const bool may_be = !is_any_down || node.kind == NodeKind::worker || node.kind == NodeKind::recorder;
      if (may_be && random_.uniform() < 0.3) side.insert(node);
    }
    cut_off_.clear();
    for (int server = 0; server < servers_; ++server) {
      if (side.contains(server_node(server)) != side.contains(kCoordinator)) cut_off_.insert(server);
    }
    ++report_.partitions;
    network_.set_side(side);
    const Seconds length = options_.faults.longest_partition * random_.uniform(0.1, 1.0);
    cut_until_ = later(events_.now(), length + options_.timing.lease);
    events_.in(length, [this] { network_.set_side({}); });
  }

  bool is_any_server_down() {
    view_ = coordinator_view();
    for (const View::Chain& chain : view_.chains) {
      for (const std::int32_t server : chain.servers) {
        if (!find_server(server)) return true;
      }
    }
    return false;
  }

  void move() {
    ++report_.moves;
    if (random_.uniform() < 0.5) {
      start(server_node(servers_++));
      return;
    }
    const int server = static_cast<int>(random_.below(static_cast<std::uint64_t>(servers_)));
    if (Server* process = find_server(server)) {
      process->leave();
      leaving_.insert(server);
    }
  }

  // Where a run that hangs does so.
  std::string state() {
    view_ = coordinator_view();
    std::string text = fmt::format("epoch {}", view_.epoch);
    for (RangeId range = 0; range < static_cast<RangeId>(view_.chains.size()); ++range) {
      const View::Chain& chain = view_.chains[static_cast<std::size_t>(range)];
      text += fmt::format("; range {} at", range);
      for (const std::int32_t server : chain.servers) {
        const Server* process = find_server(server);
        const RangeReplica* replica = process == nullptr ? nullptr : process->replica(range);
        text += fmt::format(" server {} (epoch {}, {} changes{})", server,
                            process == nullptr ? -1 : process->view().epoch,
                            replica == nullptr ? -1 : replica->made(),
                            replica != nullptr && replica->has_made_all() ? "" : ", more to come");
      }
      if (chain.joining >= 0) text += fmt::format(", server {} joins", chain.joining);
    }
    return text;
  }

  void settle() {
    network_.end_faults();
    for (int server = 0; server < servers_; ++server) start(server_node(server));
    const TimePoint until = later(events_.now(), kSettling);
    while (events_.now() < until && events_.run_next()) {
    }
    view_ = coordinator_view();
  }

  void check() {
    for (RangeId range = 0; range < options_.ranges; ++range) {
      const View::Chain& chain = view_.chains[static_cast<std::size_t>(range)];
      if (chain.servers.empty()) {
        witness_.fail(fmt::format("range {} is lost", range));
        continue;
      }
      const Server* head = find_server(chain.servers.front());
      const RangeReplica* replica = head == nullptr ? nullptr : head->replica(range);
      if (replica == nullptr || replica->state().store() == nullptr) {
        witness_.fail(fmt::format("range {}: its head has nothing", range));
        continue;
      }
      witness_.check(range, static_cast<const LedgerStore&>(*replica->state().store()),
                     replica->state().unused());
      check_equal(range, chain, *replica);
    }
  }

  void check_equal(RangeId range, const View::Chain& chain, const RangeReplica& head) {
    const std::vector<std::byte> bytes = head.state().save();
    for (const std::int32_t server : chain.servers) {
      const Server* other = find_server(server);
      const RangeReplica* replica = other == nullptr ? nullptr : other->replica(range);
      if (replica == nullptr || replica->state().save() != bytes) {
        witness_.fail(
            fmt::format("range {}: {} differs from its head", range, to_string(server_node(server))));
      }
    }
  }

  SimulationReport report() {
    report_.messages = network_.sent();
    report_.lost = network_.lost();
    report_.duplicated = network_.duplicated();
    report_.acknowledged = witness_.acknowledged();
    report_.seconds = Seconds(events_.now().time_since_epoch()).count() - 1;
    report_.violations = witness_.violations();
    for (const auto& [range, when] : kills_) {
      if (const auto pause = witness_.longest_pause(range, when))
        report_.recoveries.push_back(pause->count());
    }
    return report_;
  }

  SimulationOptions options_;
  ReplicaOptions replica_options_;
  Rng random_;
  EventQueue events_;
  SimulationWitness witness_;
  SimulatedNetwork network_;
  SimulatedOutbox::Send send_;
  SimulatedDisk disk_;
  std::deque<SharedGradients> gradients_;
  std::uint64_t last_id_ = 0;
  std::map<NodeId, Place> places_;
  RecorderProcess* recorder_ = nullptr;
  int servers_ = options_.servers;
  std::set<int> leaving_;
  std::set<int> cut_off_;
  TimePoint cut_until_{};
  View view_;  // The coordinator's newest.
  std::vector<std::pair<RangeId, TimePoint>> kills_;
  SimulationReport report_;
};

}  // namespace

SimulationReport simulate_ps(const SimulationOptions& options) { return SimulatedCluster(options).run(); }

}  // namespace hocket
