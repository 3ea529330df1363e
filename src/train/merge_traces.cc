// Clocks: nobody leaves a barrier before all have come in. So if rank r enters at e and leaves at x by its
// own clock, and the first rank at E and X by its own, then e - offset <= X and x - offset >= E: the offset
// lies between e - X and x - E, as with the round trips of NTP (Mills, RFC 5905). Each barrier narrows that
// further.
#include "train/merge_traces.h"

#include <algorithm>
#include <limits>

#include "net/clock.h"

namespace hocket {
namespace {

constexpr std::size_t kBarriers = 8;
constexpr std::size_t kMostSpans = std::size_t{1} << 16;  // Of all ranks together,
constexpr std::size_t kFewestSpans = 1000;                // but so many of each.

}  // namespace

double clock_offset(std::span<const double> first, std::span<const double> other) {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < first.size(); i += 2) {
    low = std::max(low, other[i] - first[i + 1]);
    high = std::min(high, other[i + 1] - first[i]);
  }
  return (low + high) / 2;
}

std::vector<std::int64_t> clock_offsets(Team& team) {
  std::vector<double> own;
  for (std::size_t i = 0; i < kBarriers; ++i) {
    own.push_back(static_cast<double>(now_ns()));
    team.barrier();
    own.push_back(static_cast<double>(now_ns()));
  }
  const std::vector<double> all = team.gather(own);
  const std::vector<int> hosts = team.host_of();
  std::vector<std::int64_t> offsets;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto times = std::span(all).subspan(rank * own.size(), own.size());
    const bool shares_clock = hosts[rank] == hosts[0];
    offsets.push_back(
        shares_clock ? 0 : static_cast<std::int64_t>(clock_offset(std::span(all).first(own.size()), times)));
  }
  return offsets;
}

std::string merge_traces(Team& team, const Timeline& timeline) {
  const std::int64_t offset = clock_offsets(team)[static_cast<std::size_t>(team.rank())];
  const double own_origin = static_cast<double>(timeline.origin().time_since_epoch().count());
  const double origin = team.gather(std::span(&own_origin, 1)).front();
  const Timeline::Time zero(Timeline::Time::duration(static_cast<std::int64_t>(origin) + offset));
  const std::size_t most = std::max(kFewestSpans, kMostSpans / static_cast<std::size_t>(team.size()));

  const TraceEvents own = timeline.events(team.rank(), zero, most);
  const auto own_dropped = static_cast<double>(own.dropped);
  double dropped = 0;
  for (const double of_rank : team.gather(std::span(&own_dropped, 1))) dropped += of_rank;
  std::string all;
  for (const std::string& events : team.gather(own.json)) all += events;
  return team.is_first() ? chrome_trace({all, static_cast<std::uint64_t>(dropped)}) : "";
}

}  // namespace hocket
