#include "net/job_connector.h"

#include <algorithm>

namespace hocket {

std::vector<Rank> JobConnector::on_this_host(std::span<const Rank> members) const {
  const auto host_of = [&](Rank rank) { return job_.members[static_cast<std::size_t>(rank)].host_id; };
  std::vector<Rank> local;
  for (const Rank member : members) {
    if (host_of(member) == host_of(job_.rank)) local.push_back(member);
  }
  return local;
}

std::vector<std::vector<std::unique_ptr<Stream>>> JobConnector::connect(unsigned channel,
                                                                        std::span<const Rank> members) {
  const std::vector<Rank> local = on_this_host(members);
  if (local.size() == members.size()) return shm_.connect(channel, members);

  auto streams = tcp_.connect(channel, members);
  auto rings = shm_.connect(channel, local);
  for (std::size_t i = 0; i < local.size(); ++i) {
    const auto at = std::find(members.begin(), members.end(), local[i]) - members.begin();
    streams[static_cast<std::size_t>(at)] = std::move(rings[i]);
  }
  return streams;
}

std::unique_ptr<SharedMemory> JobConnector::share(unsigned channel, std::span<const Rank> members) {
  const std::vector<Rank> local = on_this_host(members);
  auto memory = shm_.share(channel, local);
  return local.size() == members.size() ? std::move(memory) : nullptr;
}

}  // namespace hocket
