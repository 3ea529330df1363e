// Groups work in place (collective.h): on one vector of all blocks where the collective has blocks. Here the
// send buffer is brought to where that vector begins, which is the receive buffer if it can hold the vector,
// and else scratch memory, from which the result is fetched.
#include "bindings/comm.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "base/error.h"
#include "bindings/unique_id.h"
#include "net/job_key.h"
#include "net/meeting.h"

namespace hocket {

namespace {

// Whether this rank's send buffer is read, and its receive buffer written.
bool sends(const Request& request, Rank me) {
  const bool root_alone =
      request.collective == Collective::broadcast || request.collective == Collective::scatter;
  return request.collective != Collective::barrier && (!root_alone || me == request.root);
}

bool receives(const Request& request, Rank me) {
  const bool root_alone =
      request.collective == Collective::reduce || request.collective == Collective::gather;
  return request.collective != Collective::barrier && (!root_alone || me == request.root);
}

void copy(void* into, const void* from, std::size_t bytes) {
  if (bytes > 0 && into != from) std::memmove(into, from, bytes);
}

// The host of each rank, for hierarchical algorithms.
std::vector<Rank> hosts_of(const Job& job) {
  std::vector<Rank> hosts;
  for (const Member& member : job.members) {
    const auto same = [&](const Member& other) { return other.host_id == member.host_id; };
    hosts.push_back(
        static_cast<Rank>(std::find_if(job.members.begin(), job.members.end(), same) - job.members.begin()));
  }
  return hosts;
}

}  // namespace

std::unique_ptr<Comm> Comm::join(const hocket_unique_id& id, Rank rank, int size) {
  if (size < 1 || rank < 0 || rank >= size) throw ConfigError("there is no rank {} of {}", rank, size);
  const MeetingPlace place = decode(id);
  Environment environment;
  environment.source = Environment::Source::hocket_launch;
  environment.rank = rank;
  environment.world_size = size;
  environment.coordinator_host = place.coordinator.address;
  environment.coordinator_port = place.coordinator.port;
  environment.key_hex = to_hex(place.key);
  auto job = std::make_shared<JoinedJob>(join_job(environment));
  GroupOptions options;
  options.group_of = hosts_of(job->world.job());
  Group group(job->world.open(), std::move(options));
  return std::make_unique<Comm>(std::move(job), std::move(group));
}

// The ranks tell each other their color and which numbers of groups they have seen; the new groups get the
// next ones, by color.
std::unique_ptr<Comm> Comm::split(int color) {
  std::vector<std::int64_t> known(static_cast<std::size_t>(size()) * 2);
  const std::int64_t mine[] = {color, job_->next_group};
  run({Collective::all_gather, mine, known.data(), 2, DType::i64});

  std::set<std::int64_t> colors;
  std::vector<Rank> members;
  std::int64_t next = 0;
  for (Rank rank = 0; rank < size(); ++rank) {
    const std::int64_t theirs = known[static_cast<std::size_t>(rank) * 2];
    next = std::max(next, known[static_cast<std::size_t>(rank) * 2 + 1]);
    if (theirs >= 0) colors.insert(theirs);
    if (theirs == color) members.push_back(rank);
  }
  job_->next_group = static_cast<unsigned>(next + static_cast<std::int64_t>(colors.size()));
  if (color < 0) return nullptr;
  const auto id = next + std::distance(colors.begin(), colors.find(color));
  return std::make_unique<Comm>(job_, group_.split(members, static_cast<unsigned>(id)));
}

void Comm::check(const Request& request) const {
  const std::size_t blocks = is_cut_into_blocks(request.collective) ? static_cast<std::size_t>(size()) : 1;
  if (request.count > std::numeric_limits<std::size_t>::max() / blocks / size_of(request.dtype)) {
    throw ConfigError("{} elements are more than memory has", request.count);
  }
  if (request.root < 0 || request.root >= size()) {
    throw ConfigError("there is no root {} among {} ranks", request.root, size());
  }
  if (request.count == 0) return;
  if (sends(request, rank()) && request.send == nullptr) throw ConfigError("the send buffer is NULL");
  if (receives(request, rank()) && request.recv == nullptr) throw ConfigError("the receive buffer is NULL");
}

std::byte* Comm::scratch(std::size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return scratch_.data();
}

Operation Comm::prepare(const Request& request) {
  check(request);
  const std::size_t block = request.count * size_of(request.dtype);
  const auto world = static_cast<std::size_t>(size());
  const std::size_t my_block = static_cast<std::size_t>(rank()) * block;
  Operation operation{request.collective, request.algorithm, request.reduction, request.dtype, request.root};
  operation.count = is_cut_into_blocks(request.collective) ? request.count * world : request.count;
  auto* recv = static_cast<std::byte*>(request.recv);
  switch (request.collective) {
    case Collective::barrier: break;
    case Collective::broadcast:
    case Collective::all_reduce:
    case Collective::reduce:
      operation.data = receives(request, rank()) ? recv : scratch(block);
      if (sends(request, rank())) copy(operation.data, request.send, block);
      break;
    case Collective::gather:
    case Collective::all_gather:
      operation.data = receives(request, rank()) ? recv : scratch(world * block);
      copy(operation.data + my_block, request.send, block);
      break;
    case Collective::scatter:
    case Collective::reduce_scatter:
      operation.data = scratch(world * block);
      if (sends(request, rank())) copy(operation.data, request.send, world * block);
      break;
    case Collective::all_to_all:
      operation.data = recv;
      operation.input = static_cast<const std::byte*>(request.send);
      if (request.send != request.recv) break;
      copy(scratch(world * block), request.send, world * block);
      operation.input = scratch_.data();
      break;
  }
  return operation;
}

void Comm::finish(const Request& request) {
  if (request.collective != Collective::scatter && request.collective != Collective::reduce_scatter) return;
  const std::size_t block = request.count * size_of(request.dtype);
  copy(request.recv, scratch_.data() + static_cast<std::size_t>(rank()) * block, block);
}

void Comm::run(const Request& request) {
  if (async_) wait(started_);  // It may use the scratch memory.
  run(prepare(request));
  finish(request);
}

void Comm::run(const Operation& operation) {
  if (!async_) return group_.run(operation);
  started_ = async_->start(operation);
  async_->wait(started_);
}

AsyncGroup::Handle Comm::start(const Request& request) {
  const Operation operation = prepare(request);
  if (!async_) async_ = std::make_unique<AsyncGroup>(group_);
  return started_ = async_->start(operation);
}

bool Comm::is_done(AsyncGroup::Handle handle) {
  if (handle == 0 || handle > started_) throw ConfigError("no operation has the handle {}", handle);
  return async_->is_done(handle);
}

void Comm::wait(AsyncGroup::Handle handle) {
  if (handle > started_) throw ConfigError("no operation has the handle {}", handle);
  if (async_) async_->wait(handle);
}

}  // namespace hocket
