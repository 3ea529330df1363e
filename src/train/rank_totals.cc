#include "train/rank_totals.h"

#include <iterator>

#include "train/process_usage.h"

namespace hocket {
void add_up_ranks(Team& team, TrainResult& result) {
  const Traffic traffic = team.traffic();
  const RankSeconds& own = result.seconds;
  const double figures[] = {own.wall_seconds,
                            own.train_seconds,
                            own.cpu_seconds,
                            own.compute_seconds,
                            own.comm_seconds,
                            own.exposed_comm_seconds,
                            own.wait_seconds,
                            static_cast<double>(traffic.bytes_sent),
                            static_cast<double>(traffic.messages_sent),
                            static_cast<double>(process_peak_rss_bytes()),
                            result.peers ? static_cast<double>(result.peers->bytes_sent) : 0};
  const std::vector<double> all = team.gather(figures);
  if (result.peers) result.peers->bytes_sent = 0;
  for (auto at = all.begin(); at != all.end(); at += std::size(figures)) {
    result.ranks.push_back({at[0], at[1], at[2], at[3], at[4], at[5], at[6]});
    result.bytes_sent += static_cast<std::uint64_t>(at[7]);
    result.messages_sent += static_cast<std::uint64_t>(at[8]);
    result.peak_rss_bytes += static_cast<std::int64_t>(at[9]);
    if (result.peers) result.peers->bytes_sent += static_cast<std::uint64_t>(at[10]);
  }
}

}  // namespace hocket
