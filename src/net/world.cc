#include "net/world.h"

#include <sched.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "net/mpi_transport.h"
#include "net/stream_transport.h"

namespace hocket {

namespace {

constexpr std::string_view kNames[] = {"auto", "shm", "tcp", "mpi", "inproc"};

}  // namespace

std::string_view name_of(TransportKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<TransportKind> find_transport_kind(std::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<TransportKind>(found - std::begin(kNames));
}

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(CPU_COUNT(&cores), 1) : 1;
}

World::World(std::unique_ptr<Membership> membership, WorldOptions options)
    : membership_(std::move(membership)), options_(options) {
  const bool one_host = ranks_on_this_host() == job().size();
  if (options_.transport == TransportKind::automatic) {
    options_.transport = one_host ? TransportKind::shm : TransportKind::tcp;
  }
  if (options_.transport == TransportKind::inproc) {
    throw ConfigError("the transport inproc is for ranks that are threads of one process");
  }
  if (options_.transport == TransportKind::shm && !one_host) {
    throw ConfigError("the transport shm is for ranks of one host, and {} of {} are on this one",
                      ranks_on_this_host(), job().size());
  }
  if (options_.transport == TransportKind::mpi && membership_->mpi() == nullptr) {
    throw ConfigError(
        "the transport mpi is for ranks that mpirun started, and needs libhocket_mpi.so beside "
        "the program or installed");
  }
  if (options_.transport == TransportKind::mpi && options_.emulation != nullptr) {
    throw ConfigError("links are not emulated over the transport mpi: use shm or tcp");
  }
  connector_ = std::make_unique<JobConnector>(job(), health(), membership_->connector());
}

int World::ranks_on_this_host() const {
  const auto& members = job().members;
  const std::string& here = members[static_cast<std::size_t>(job().rank)].host_id;
  return static_cast<int>(std::count_if(members.begin(), members.end(),
                                        [&](const Member& member) { return member.host_id == here; }));
}

std::vector<int> World::host_of() const {
  std::vector<std::string_view> ids;
  std::vector<int> hosts;
  for (const Member& member : job().members) {
    const auto found = std::find(ids.begin(), ids.end(), member.host_id);
    hosts.push_back(static_cast<int>(found - ids.begin()));
    if (found == ids.end()) ids.push_back(member.host_id);
  }
  return hosts;
}

std::unique_ptr<Transport> World::open(unsigned channel) {
  std::vector<Rank> members(job().members.size());
  std::iota(members.begin(), members.end(), 0);
  TransportOptions options;
  options.name = name_of(options_.transport);
  options.job = job().id;
  options.deadline = options_.deadline;
  options.crowded = ranks_on_this_host() > usable_cores();
  options.emulation = options_.emulation;
  if (options_.transport == TransportKind::mpi) {
    return std::make_unique<MpiTransport>(*membership_->mpi(), channel, std::move(members), health(),
                                          options);
  }
  // Between hosts the ranks of one host still talk by shared memory, unless everything is on one host and TCP
  // was asked for.
  const bool tcp_alone = options_.transport == TransportKind::tcp && ranks_on_this_host() == job().size();
  Connector& connector = tcp_alone ? membership_->connector() : *connector_;
  return std::make_unique<StreamTransport>(connector, channel, std::move(members), job().rank, health(),
                                           options);
}

}  // namespace hocket
