#include "cli/launch/rank_output.h"

#include <fmt/format.h>

namespace hocket {
namespace {

constexpr std::size_t kKeptLines = 20;
constexpr std::size_t kMaxLine = 4096;

}  // namespace

void RankOutput::take(Rank rank, OutputKind kind, std::string_view bytes) {
  if (!tags_) write_(kind, bytes);
  std::string& unfinished = unfinished_[{rank, kind}];
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    unfinished += bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (end == std::string_view::npos && unfinished.size() < kMaxLine) return;
    take_line(rank, kind, unfinished);
    unfinished.clear();
  }
}

void RankOutput::take_line(Rank rank, OutputKind kind, const std::string& line) {
  if (tags_) write_(kind, fmt::format("[{}] {}\n", rank, line));
  if (kind != OutputKind::err) return;
  std::deque<std::string>& kept = last_lines_[rank];
  kept.push_back(line);
  if (kept.size() > kKeptLines) kept.pop_front();
}

void RankOutput::end(Rank rank) {
  for (const OutputKind kind : {OutputKind::out, OutputKind::err}) {
    const auto unfinished = unfinished_.find({rank, kind});
    if (unfinished == unfinished_.end() || unfinished->second.empty()) continue;
    take_line(rank, kind, unfinished->second);
    unfinished->second.clear();
  }
}

}  // namespace hocket
