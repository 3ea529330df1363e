#include "bindings/unique_id.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "base/error.h"
#include "net/coordinator_server.h"
#include "net/job_key.h"
#include "net/wire.h"

namespace hocket {

namespace {

constexpr std::uint32_t kMagic = 0x31494348;  // "HCI1" in little-endian memory.
constexpr Seconds kFarewell{1.0};

// The coordinators that this process hosts, by job. Never destroyed: a process that ends does not wait for
// ranks of others.
struct Meetings {
  std::mutex mutex;
  std::map<JobKey, std::unique_ptr<CoordinatorServer>> servers;
};

Meetings& meetings() {
  static auto* const all = new Meetings;
  return *all;
}

}  // namespace

hocket_unique_id encode(const MeetingPlace& place) {
  WireWriter out;
  out.put_bytes(place.key);
  out.put(kMagic);
  out.put(place.coordinator.port);
  out.put_text(place.coordinator.address);
  hocket_unique_id id = {};
  const auto bytes = std::as_writable_bytes(std::span(id.bytes));
  HOCKET_CHECK(out.bytes().size() <= bytes.size(), "an id of {} bytes", out.bytes().size());
  std::copy(out.bytes().begin(), out.bytes().end(), bytes.begin());
  return id;
}

MeetingPlace decode(const hocket_unique_id& id) {
  WireReader in(std::as_bytes(std::span(id.bytes)));
  MeetingPlace place;
  const auto key = in.get_bytes(place.key.size());
  const bool is_ours = in.get<std::uint32_t>() == kMagic;
  place.coordinator.port = in.get<std::uint16_t>();
  place.coordinator.address = in.get_text();
  if (!is_ours || !in.is_good()) throw ConfigError("these 128 bytes are not a unique id of Hocket");
  std::copy(key.begin(), key.end(), place.key.begin());
  return place;
}

hocket_unique_id host_meeting(const std::string& address) {
  const JobKey key = random_key();
  const Log log = log_to_stderr();
  CoordinatorOptions options;
  options.world_size = 0;  // As the first rank says.
  auto server = std::make_unique<CoordinatorServer>(
      options, Listener(listen_at({address, 0}), key, ListenerOptions{}, log), key, log);
  server->set_farewell(kFarewell);
  const hocket_unique_id id = encode({server->endpoint(), key});
  const std::lock_guard lock(meetings().mutex);
  meetings().servers[key] = std::move(server);
  return id;
}

void end_meeting(const hocket_unique_id& id) {
  std::unique_ptr<CoordinatorServer> server;  // Destroyed last, when the lock is free again.
  const std::lock_guard lock(meetings().mutex);
  auto& servers = meetings().servers;
  const auto found = servers.find(decode(id).key);
  if (found == servers.end()) throw ConfigError("this process did not make the unique id");
  server = std::move(found->second);
  servers.erase(found);
}

std::string address_to_the_outside() {
  try {
    return local_address_towards("192.0.2.1");  // Reserved for documents: only the route is asked for.
  } catch (const NetError&) {
    return "127.0.0.1";
  }
}

}  // namespace hocket
