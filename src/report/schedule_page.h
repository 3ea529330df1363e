#pragma once

#include <string>
#include <vector>

namespace hocket {

// What a page about a replayed trace shows, as plain data: a row is one policy.
struct SchedulePage {
  std::string title;
  std::string subtitle;
  std::vector<std::string> columns;            // The first names the row.
  std::vector<std::vector<std::string>> rows;  // Plain text.
  // {"rows": [{"name", "mean_completion", "mean_response", "useful_share", "slot", "policy",
  //            "completions": [[seconds, share]...], "busy": [[hours, share]...], "waiting": [[hours,
  //            jobs]...]}]}
  std::string data;
  bool has_sweep = false;  // Some policy has several slot lengths.
};

// One HTML file that loads nothing: the table, completion times as bars and curves, the cluster over time.
std::string render_schedule_page(const SchedulePage& page);

}  // namespace hocket
