#include "cli/launch/host_list.h"

#include "base/error.h"
#include "cli/arguments.h"
#include "net/socket.h"

namespace hocket {
namespace {

constexpr int kMaxRanks = 1 << 16;

int count_of(std::string_view text, std::string_view entry) {
  const auto count = parse_integer(text);
  if (!count || *count < 1 || *count > kMaxRanks) {
    throw ConfigError("launch: --hosts: '{}' is not HOST or HOST:RANKS", entry);
  }
  return static_cast<int>(*count);
}

}  // namespace

std::vector<HostRanks> parse_hosts(std::string_view text) {
  std::vector<HostRanks> hosts;
  Rank next = 0;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = text.substr(0, comma);
    const std::size_t colon = entry.rfind(':');
    HostRanks host{std::string(entry.substr(0, colon)), {}};
    if (host.host.empty() || host.host.front() == '-') {
      throw ConfigError("launch: --hosts: '{}' is not HOST or HOST:RANKS", entry);
    }
    const int count = colon == std::string_view::npos ? 1 : count_of(entry.substr(colon + 1), entry);
    for (int i = 0; i < count; ++i) host.ranks.push_back(next++);
    hosts.push_back(std::move(host));
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
  }
}

bool is_this_host(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == this_host_name();
}

}  // namespace hocket
