#include "collective/show.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "collective/blocks.h"

namespace hocket {
namespace {

std::string_view name_of(Buffer buffer) {
  switch (buffer) {
    case Buffer::data: return "data";
    case Buffer::input: return "input";
    case Buffer::scratch: break;
  }
  return "scratch";
}

std::string text_of(Buffer buffer, Range range) {
  return fmt::format("{} [{}, {})", name_of(buffer), range.offset, range.end());
}

using LinkSet = std::set<std::pair<Rank, Rank>>;

// One round of all ranks.
struct Moment {
  std::vector<Round> rounds;

  LinkSet links() const {
    LinkSet links;
    for (std::size_t rank = 0; rank < rounds.size(); ++rank) {
      for (const Action& action : rounds[rank]) {
        if (action.is_send()) links.insert({static_cast<Rank>(rank), action.peer});
      }
    }
    return links;
  }
};

std::vector<Moment> moments_of(const Call& call) {
  std::vector<Moment> moments;
  for (Rank rank = 0; rank < call.world; ++rank) {
    const Schedule schedule = schedule_of(call, rank);
    moments.resize(static_cast<std::size_t>(schedule.rounds()));
    for (int index = 0; index < schedule.rounds(); ++index) {
      schedule.round(index, moments[static_cast<std::size_t>(index)].rounds.emplace_back());
    }
  }
  return moments;
}

// What a range of a rank's buffer is called: whole chunks by their number, the rest by elements.
class RangeNames {
 public:
  explicit RangeNames(const Blocks& chunks) : chunks_(chunks) {}

  std::string operator()(Buffer buffer, Range range) const {
    if (range.size == 0) return "signal";
    if (buffer != Buffer::data) return text_of(buffer, range);
    if (range == chunks_.whole()) return "all";
    int first = 0;
    while (first < chunks_.parts() && !(chunks_[first].size > 0 && chunks_[first].offset == range.offset))
      ++first;
    int last = first;
    while (last < chunks_.parts() && chunks_[last].end() < range.end()) ++last;
    if (last >= chunks_.parts() || chunks_[last].end() != range.end()) return text_of(buffer, range);
    return first == last ? fmt::format("chunk {}", first) : fmt::format("chunks {}-{}", first, last);
  }

 private:
  Blocks chunks_;
};

std::string joined(const std::vector<std::string>& parts) {
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string sends_of(const Round& round, const RangeNames& name) {
  std::vector<std::string> parts;
  for (const Action& action : round) {
    if (action.is_send())
      parts.push_back(fmt::format("{} -> rank {}", name(action.buffer, action.range), action.peer));
  }
  return joined(parts);
}

std::string arrivals_of(const Round& round, const RangeNames& name) {
  std::vector<std::string> parts;
  for (const Action& action : round) {
    const std::string into = name(action.buffer, action.range);
    const std::string from = name(action.source, {action.source_offset, action.range.size});
    switch (action.kind) {
      case Action::Kind::send: break;
      case Action::Kind::recv: parts.push_back(fmt::format("{} <- rank {}", into, action.peer)); break;
      case Action::Kind::recv_reduce: parts.push_back(fmt::format("{} += rank {}", into, action.peer)); break;
      case Action::Kind::copy: parts.push_back(fmt::format("{} <- {}", into, from)); break;
      case Action::Kind::reduce: parts.push_back(fmt::format("{} += {}", into, from)); break;
    }
  }
  return joined(parts);
}

std::string idle_links(const LinkSet& all, const LinkSet& busy) {
  std::vector<std::string> parts;
  for (const auto& link : all) {
    if (busy.count(link) == 0) parts.push_back(fmt::format("{}->{}", link.first, link.second));
  }
  return parts.empty() ? "none"
                       : fmt::format("{} of {}: {}", parts.size(), all.size(), fmt::join(parts, " "));
}

struct Line {
  std::string round, rank, sends, arrivals;  // No rank: `sends` is a note on the round.
};

std::string table_of(const std::vector<Line>& lines) {
  std::size_t width = 0;
  for (const Line& line : lines) {
    if (!line.rank.empty()) width = std::max(width, line.sends.size());
  }
  std::string text;
  for (const Line& line : lines) {
    const std::string sends = line.rank.empty() ? line.sends : fmt::format("{:<{}}", line.sends, width);
    text += fmt::format("{:>5}  {:>4}  {}", line.round, line.rank, sends);
    text += line.rank.empty() ? "\n" : fmt::format("  {}\n", line.arrivals);
  }
  return text;
}

}  // namespace

std::string text_of(const Action& action) {
  const std::string range = text_of(action.buffer, action.range);
  const std::string source = text_of(action.source, {action.source_offset, action.range.size});
  switch (action.kind) {
    case Action::Kind::send: return fmt::format("send {} to rank {}", range, action.peer);
    case Action::Kind::recv: return fmt::format("recv {} from rank {}", range, action.peer);
    case Action::Kind::recv_reduce: return fmt::format("recv_reduce {} from rank {}", range, action.peer);
    case Action::Kind::copy: return fmt::format("copy {} to {}", source, range);
    case Action::Kind::reduce: break;
  }
  return fmt::format("reduce {} into {}", source, range);
}

std::string show(const Call& call) {
  const std::vector<Moment> moments = moments_of(call);
  LinkSet all_links;
  for (const Moment& moment : moments) all_links.merge(moment.links());

  std::vector<Line> lines = {{"round", "rank", "sends", "receives"}};
  for (std::size_t index = 0; index < moments.size(); ++index) {
    for (Rank rank = 0; rank < call.world; ++rank) {
      const RangeNames name(data_blocks(call, rank));
      const Round& round = moments[index].rounds[static_cast<std::size_t>(rank)];
      lines.push_back(
          {std::to_string(index), std::to_string(rank), sends_of(round, name), arrivals_of(round, name)});
    }
    lines.push_back({"", "", "idle links: " + idle_links(all_links, moments[index].links()), ""});
  }
  return fmt::format("{} by {}: {} ranks, {} elements, {} rounds\n", name_of(call.collective),
                     name_of(call.algorithm), call.world, call.count, moments.size()) +
         table_of(lines);
}

}  // namespace hocket
