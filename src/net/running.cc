#include "net/running.h"

#include <fmt/format.h>

#include <fstream>
#include <string_view>

#include "net/socket.h"

namespace hocket {

bool is_running_here(const Member& member) {
  if (member.host_id != this_host_id()) return false;
  std::ifstream file(fmt::format("/proc/{}/stat", member.pid));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(") ");  // Of the name, which may hold anything.
  if (name_end == std::string::npos || name_end + 2 >= line.size()) return false;
  constexpr std::string_view kStoppedOrEnded = "TtZXx";
  return kStoppedOrEnded.find(line[name_end + 2]) == std::string_view::npos;
}

}  // namespace hocket
