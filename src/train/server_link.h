#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ps/client.h"
#include "ps/node_network.h"
#include "train/model_ranges.h"
#include "train/node_place.h"
#include "train/session.h"

namespace hocket {

struct ServerLinkOptions {
  std::vector<TableUse> tables{};
  OptimizerSpec optimizer{};
  RateSpec rate{};
  int servers = 1;
  bool is_in_step = false;  // The servers make the same updates: their values must be of the same one.
};

// The recorder's link to the servers: moves a session's parameters, running statistics and optimizer state to
// and from them. Used by one thread, which calls pump() often. Throws NetError when nodes do not come or
// answer in time.
class ServerLink {
 public:
  // The session must outlive it.
  ServerLink(const NodePlace& place, Session& session, const ServerLinkOptions& options);

  void pump(TimePoint until);  // Moves messages until then, or until something has come.

  void meet();                   // Waits for all workers and servers.
  void give(std::int64_t step);  // The servers begin with the session's values, as of that step.

  // Asks for the values as they are when `batch` batches are done; what was asked for before is forgotten.
  void ask(std::int64_t batch);
  bool is_asking() const { return is_asking_; }
  // Once they are here: copies them to the session. Where the servers stand, by their first range.
  std::optional<RangeProgress> take();
  RangeProgress wait_and_take();

  void ask_for_status();
  const std::optional<RangeStatus>& status() const { return status_; }
  void forget_status() { status_.reset(); }

  void end();  // The training is over: workers leave.

 private:
  template <typename Ready>
  void wait_for(const Ready& ready, Seconds patience, const char* complaint);
  Payload values_of(const ModelRange& range);
  std::vector<std::byte> table_of(const ModelRange& range, bool with_state);
  void take_table(const ModelRange& range, const PullDone& pulled);
  std::vector<std::span<std::byte>> parts_of(const ModelRange& range);
  template <typename Copy>
  void for_each_state(const ModelRange& range, const Copy& copy);
  std::vector<std::byte> state_of(const ModelRange& range);
  bool are_in_step();
  void take_range(const ModelRange& range, const PullDone& pulled);

  Session& session_;
  std::vector<ModelRange> ranges_;
  NodeNetwork network_;
  Client client_;
  ServerLinkOptions options_;
  bool is_asking_ = false;
  std::int64_t margin_ = 4;  // How far ahead to ask for values that were not of the same batch.
  std::map<RangeId, PullDone> pulled_;
  std::optional<RangeStatus> status_;
};

}  // namespace hocket
