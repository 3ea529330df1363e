#include "cli/nodes/launch_nodes.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/launch/guard.h"
#include "cli/launch/local_ranks.h"
#include "cli/launch/signals_to_poll.h"
#include "cli/nodes/roles.h"
#include "cli/terminal.h"
#include "net/job_key.h"
#include "net/socket.h"
#include "train/server_node.h"

namespace hocket {
namespace {

constexpr Seconds kTermination{1.5};  // From SIGTERM to SIGKILL.
constexpr Seconds kNodeLook{0.1};
constexpr Rank kRecorderRank = 0;

// What the end of a node means for the run.
enum class Consequence { none, start_again, miss, fail };

class NodeLauncher final : public RankEvents {
 public:
  // Takes from `restarts_left` what it needs.
  NodeLauncher(const TrainOptions& options, const RankCommand& command, const JobKey& key,
               SignalsToPoll& signals, int& restarts_left)
      : options_(options), command_(command), key_(key), signals_(signals), restarts_left_(restarts_left) {}

  int run() {
    for (Rank rank = 0; rank < node_count(options_); ++rank) start(rank);
    while (nodes_.contains(kRecorderRank)) {
      wait(after(kNodeLook));
      take_signals();
      progress();
    }
    end_all();
    return code_;
  }

  void on_start(Rank, int, const std::string&) override {}

  // What several nodes say alike, as of a setting that none can follow, is said once.
  void on_output(Rank rank, OutputKind kind, std::string_view bytes) override {
    if (kind != OutputKind::err) return;
    const bool is_new = said_.insert(std::string(bytes)).second;
    if (is_new || rank == kRecorderRank) write_raw(bytes);
  }

  void on_exit(Rank rank, int status) override { ended_[rank] = status; }

 private:
  void start(Rank rank) {
    const bool reads_input = false;
    nodes_[rank] = std::make_unique<LocalRanks>(command_, key_, std::vector<Rank>{rank}, reads_input);
  }

  void wait(TimePoint until) const {
    std::vector<pollfd> polls{{signals_.fd(), POLLIN, 0}};
    for (const auto& [rank, node] : nodes_) node->add_to(polls);
    ::poll(polls.data(), polls.size(), milliseconds_until(until));
  }

  // The recorder brings the run to its end; who asks twice does not want to wait for that.
  void take_signals() {
    while (const auto number = signals_.take()) {
      if (*number == SIGTSTP) {
        pause();
      } else if (was_interrupted_) {
        code_ = *number == SIGINT ? kInterrupted : kTerminated;
        nodes_.clear();
        return;
      } else {
        was_interrupted_ = true;
        nodes_.at(kRecorderRank)->signal(*number == SIGHUP ? SIGTERM : *number);
      }
    }
  }

  void pause() {
    for (auto& [rank, node] : nodes_) node->signal(SIGSTOP);
    ::raise(SIGSTOP);
    for (auto& [rank, node] : nodes_) node->signal(SIGCONT);
  }

  void progress() {
    for (auto& [rank, node] : nodes_) node->progress(*this);
    for (const auto& [rank, status] : std::exchange(ended_, {})) {
      nodes_.erase(rank);
      follow(rank, status);
    }
  }

  void follow(Rank rank, int status) {
    if (rank == kRecorderRank) {
      code_ = WIFSIGNALED(status) ? static_cast<int>(kPeerFailed) : WEXITSTATUS(status);
      if (WIFSIGNALED(status)) say(rank, status, "the run is lost");
      return;
    }
    if (!nodes_.contains(kRecorderRank)) return;
    switch (consequence(rank, status)) {
      case Consequence::none: return;
      case Consequence::start_again: say(rank, status, "it is started again"); return start(rank);
      case Consequence::miss: return say(rank, status, "the others go on");
      case Consequence::fail: break;
    }
    code_ = WIFSIGNALED(status) ? static_cast<int>(kPeerFailed) : WEXITSTATUS(status);
    if (code_ == kDone) code_ = kPeerFailed;
    if (WIFSIGNALED(status)) say(rank, status, "the run cannot go on");
    nodes_.clear();
  }

  // A node that fails by itself says why, and all others of its kind would, too.
  Consequence consequence(Rank rank, int status) {
    const NodeId node = node_of(rank, options_);
    const bool has_died = WIFSIGNALED(status) || WEXITSTATUS(status) == kPeerFailed;
    if (node.kind == NodeKind::worker) {
      if (!has_died) return WEXITSTATUS(status) == kDone ? Consequence::none : Consequence::fail;
      if (restarts_left_ > 0) {
        --restarts_left_;
        return Consequence::start_again;
      }
      return has_workers() ? Consequence::miss : Consequence::fail;
    }
    if (!has_died) return Consequence::fail;
    const bool is_kept_elsewhere = node.kind == NodeKind::coordinator || options_.replicas > 1;
    return is_kept_elsewhere && !is_sandblaster(options_) ? Consequence::start_again : Consequence::fail;
  }

  bool has_workers() const {
    for (const auto& [rank, node] : nodes_) {
      if (node_of(rank, options_).kind == NodeKind::worker) return true;
    }
    return false;
  }

  void say(Rank rank, int status, const char* consequence) const {
    write_message(
        fmt::format("hocket: {} {}; {}", to_string(node_of(rank, options_)), exit_text(status), consequence));
  }

  void end_all() {
    for (auto& [rank, node] : nodes_) node->signal(SIGTERM);
    const TimePoint deadline = after(kTermination);
    while (!nodes_.empty() && Clock::now() < deadline) {
      wait(deadline);
      for (auto& [rank, node] : nodes_) node->progress(*this);
      for (const auto& [rank, status] : std::exchange(ended_, {})) nodes_.erase(rank);
    }
    nodes_.clear();
  }

  const TrainOptions& options_;
  const RankCommand& command_;
  const JobKey& key_;
  SignalsToPoll& signals_;
  int& restarts_left_;
  bool was_interrupted_ = false;
  int code_ = kPeerFailed;
  std::map<Rank, std::unique_ptr<LocalRanks>> nodes_;
  std::map<Rank, int> ended_;
  std::set<std::string> said_;
};

}  // namespace

int launch_nodes(const TrainOptions& options, const Arguments& arguments, const std::string& folder) {
  if (!options.emulate_net.empty()) open_topology(options.emulate_net, options.workers + options.servers);
  const JobKey key = random_key();
  SignalsToPoll signals{SIGINT, SIGTERM, SIGHUP, SIGTSTP};
  const Guard guard(job_mark(key, 0));  // Before any thread, and to the very end.
  RankCommand command;
  command.words = {std::filesystem::read_symlink("/proc/self/exe").string(), "train"};
  command.words.insert(command.words.end(), arguments.typed().begin(), arguments.typed().end());
  if (!arguments.has("out") && !arguments.has("resume")) {
    command.words.insert(command.words.end(), {"--out", folder});
  }
  command.environment = this_environment();
  command.environment.push_back(std::string(kNodesVariable) + "=1");
  command.folder = std::filesystem::current_path().string();
  command.world_size = node_count(options);
  const FileDescriptor port = reserve_port("127.0.0.1");  // For each coordinator that is started.
  command.coordinator = local_endpoint(port.get());
  command.plaintext = options.plaintext;
  int restarts_left = options.restarts;
  while (true) {
    std::error_code ignored;
    std::filesystem::remove(coordinator_file(folder), ignored);  // Of a run before this one.
    std::filesystem::remove(links_file(folder), ignored);
    const int code = NodeLauncher(options, command, key, signals, restarts_left).run();
    std::filesystem::remove(links_file(folder), ignored);
    if (code != kPeerFailed || restarts_left == 0) return code;
    --restarts_left;
    if (command.restarts++ == 0 && !arguments.has("resume")) command.words.emplace_back("--resume");
    write_message(fmt::format("hocket: starting all nodes anew from the newest checkpoint (restart {} of {})",
                              options.restarts - restarts_left, options.restarts));
  }
}

}  // namespace hocket
