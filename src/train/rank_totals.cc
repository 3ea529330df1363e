#include "train/rank_totals.h"

#include <algorithm>
#include <iterator>

#include "train/process_usage.h"

namespace hocket {
namespace {

void add_up_peers(Team& team, PeerCounts& counts) {
  const bool has_own_pace = !counts.steps.empty();
  const double figures[] = {static_cast<double>(counts.bytes_sent),
                            has_own_pace ? static_cast<double>(counts.steps.front()) : 0,
                            static_cast<double>(counts.rounds), static_cast<double>(counts.refusals),
                            static_cast<double>(counts.data_bytes_read)};
  const std::vector<double> all = team.gather(figures);
  PeerCounts sum = counts;
  sum.bytes_sent = sum.data_bytes_read = 0;
  sum.rounds = sum.refusals = 0;
  sum.steps.clear();
  for (auto at = all.begin(); at != all.end(); at += std::size(figures)) {
    const auto bytes = static_cast<std::uint64_t>(at[0]);
    sum.bytes_sent += bytes;
    sum.busiest_bytes_sent = std::max(sum.busiest_bytes_sent, bytes);
    if (has_own_pace) sum.steps.push_back(static_cast<std::int64_t>(at[1]));
    sum.rounds += static_cast<std::int64_t>(at[2]);
    sum.refusals += static_cast<std::int64_t>(at[3]);
    sum.data_bytes_read += static_cast<std::uint64_t>(at[4]);
  }
  sum.rounds = has_own_pace ? sum.rounds / 2 : counts.rounds;  // Two took part in each.
  counts = sum;
}

}  // namespace

void add_up_ranks(Team& team, TrainResult& result) {
  const Traffic traffic = team.traffic();
  const RankSeconds& own = result.seconds;
  const double figures[] = {
      own.wall_seconds,
      own.train_seconds,
      own.cpu_seconds,
      own.compute_seconds,
      own.comm_seconds,
      own.exposed_comm_seconds,
      own.wait_seconds,
      static_cast<double>(traffic.bytes_sent),
      static_cast<double>(traffic.messages_sent),
      static_cast<double>(process_peak_rss_bytes()),
      result.activation_bytes.empty() ? 0.0 : static_cast<double>(result.activation_bytes[0])};
  result.activation_bytes.clear();
  const std::vector<double> all = team.gather(figures);
  for (auto at = all.begin(); at != all.end(); at += std::size(figures)) {
    result.ranks.push_back({at[0], at[1], at[2], at[3], at[4], at[5], at[6]});
    result.bytes_sent += static_cast<std::uint64_t>(at[7]);
    result.messages_sent += static_cast<std::uint64_t>(at[8]);
    result.peak_rss_bytes += static_cast<std::int64_t>(at[9]);
    result.activation_bytes.push_back(static_cast<std::int64_t>(at[10]));
  }
  if (result.peers) add_up_peers(team, *result.peers);
}

}  // namespace hocket
