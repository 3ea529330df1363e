#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "cli/launch/rank_set.h"

namespace hocket {

// Passes on what ranks write, and keeps the last lines that each wrote to its standard error. With tags,
// whole lines that begin with the rank; else bytes as they come. Used by one thread.
class RankOutput {
 public:
  using Write = std::function<void(OutputKind kind, std::string_view text)>;

  RankOutput(bool tags, Write write) : tags_(tags), write_(std::move(write)) {}

  void take(Rank rank, OutputKind kind, std::string_view bytes);
  void end(Rank rank);  // Nothing more comes: a last line without its end counts, too.
  const std::deque<std::string>& last_lines(Rank rank) { return last_lines_[rank]; }

 private:
  void take_line(Rank rank, OutputKind kind, const std::string& line);

  bool tags_;
  Write write_;
  std::map<std::pair<Rank, OutputKind>, std::string> unfinished_;
  std::map<Rank, std::deque<std::string>> last_lines_;
};

}  // namespace hocket
