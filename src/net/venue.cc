#include "net/venue.h"

#include <algorithm>

#include "base/error.h"
#include "net/job_key.h"
#include "net/wire.h"

namespace hocket {
namespace {

constexpr Seconds kFarewell{1.0};

using Source = Environment::Source;

// The address among those of `host` that this machine has, if any.
std::optional<std::string> local_address_of(const std::string& host) {
  for (const std::string& address : resolve(host)) {
    if (is_local_address(address)) return address;
  }
  return std::nullopt;
}

std::unique_ptr<CoordinatorServer> serve(const Environment& environment, const VenueOptions& options,
                                         const Endpoint& endpoint, const JobKey& key) {
  const ListenerOptions listening{.rank = -1, .plaintext = options.plaintext};
  Listener listener(listen_at(endpoint), key, listening, options.log);
  CoordinatorOptions coordinator;
  coordinator.world_size = environment.world_size;
  coordinator.join_timeout = options.timeout;
  coordinator.heartbeat = options.heartbeat;
  auto server = std::make_unique<CoordinatorServer>(coordinator, std::move(listener), key, options.log);
  server->set_farewell(kFarewell);
  return server;
}

JobKey key_of(const Environment& environment) {
  if (environment.key_fd) return key_from_descriptor(*environment.key_fd);
  if (!environment.key_hex) return random_key();
  const auto key = key_from_hex(*environment.key_hex);
  if (!key) throw ConfigError("HOCKET_JOB_KEY: expected {} hexadecimal digits", 2 * kKeyBytes);
  return *key;
}

std::function<std::optional<MeetingPlace>()> always(const MeetingPlace& place) {
  return [place] { return std::optional(place); };
}

Venue venue_of_launcher(const Environment& environment) {
  Venue venue;
  const MeetingPlace place{{resolve(environment.coordinator_host).front(), environment.coordinator_port},
                           key_of(environment)};
  venue.place = always(place);
  return venue;
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Loopback when all ranks are on this host, else the address that leads to the first one elsewhere.
std::string address_for(const std::vector<std::vector<std::byte>>& ids,
                        const std::vector<std::vector<std::byte>>& names) {
  for (std::size_t r = 0; r < ids.size(); ++r) {
    if (ids[r] != ids[0]) return local_address_towards(resolve(text_of(names[r])).front());
  }
  return "127.0.0.1";
}

Venue venue_by_exchange(const Environment& environment, const VenueOptions& options) {
  const auto ids = options.exchange(bytes_of(this_host_id()));
  const auto names = options.exchange(bytes_of(this_host_name()));
  Venue venue;
  venue.coordinator_rank = 0;
  WireWriter mine;
  if (environment.rank == 0) {
    const JobKey key = key_of(environment);
    venue.server = serve(environment, options, {address_for(ids, names), 0}, key);
    mine.put_bytes(key);
    mine.put_text(to_string(venue.server->endpoint()));
  }
  const auto all = options.exchange(mine.bytes());
  WireReader in(all.front());
  MeetingPlace place;
  const auto key = in.get_bytes(place.key.size());
  const std::string endpoint = in.get_text();
  if (!in.is_good()) throw NetError("rank {}: rank 0 did not say where to meet", environment.rank);
  std::copy(key.begin(), key.end(), place.key.begin());
  place.coordinator = parse_endpoint(endpoint);
  venue.place = always(place);
  return venue;
}

Venue venue_at_address(const Environment& environment, const VenueOptions& options) {
  const std::optional<std::string> mine = local_address_of(environment.coordinator_host);
  Venue venue;
  venue.coordinator_rank = 0;
  if (environment.rank == 0) {
    if (!mine) {
      throw ConfigError("rank 0 is to listen at {}, which is not an address of this host ({})",
                        environment.coordinator_host, this_host_name());
    }
    const JobKey key = key_of(environment);
    venue.server = serve(environment, options, {*mine, environment.coordinator_port}, key);
    const MeetingPlace place{venue.server->endpoint(), key};
    if (!environment.key_hex) venue.file = std::make_unique<MeetingFile>(environment.meeting_name, place);
    venue.place = always(place);
  } else if (environment.key_hex) {
    const std::string address = mine ? *mine : resolve(environment.coordinator_host).front();
    venue.place = always({{address, environment.coordinator_port}, key_of(environment)});
  } else if (mine) {
    venue.place = [name = environment.meeting_name] { return MeetingFile::find(name); };
  } else {
    throw ConfigError(
        "rank {} is on another host than rank 0 ({}): set HOCKET_JOB_KEY to the same {} hexadecimal digits "
        "for all "
        "ranks, as `openssl rand -hex {}` makes them",
        environment.rank, environment.coordinator_host, 2 * kKeyBytes, kKeyBytes);
  }
  return venue;
}

// No address is known, so that all ranks have to be on this host.
Venue venue_by_file(const Environment& environment, const VenueOptions& options) {
  Venue venue;
  venue.coordinator_rank = 0;
  if (environment.rank == 0) {
    const JobKey key = key_of(environment);
    venue.server = serve(environment, options, {"127.0.0.1", 0}, key);
    const MeetingPlace place{venue.server->endpoint(), key};
    venue.file = std::make_unique<MeetingFile>(environment.meeting_name, place);
    venue.place = always(place);
  } else {
    venue.place = [name = environment.meeting_name] { return MeetingFile::find(name); };
  }
  return venue;
}

}  // namespace

Venue find_venue(const Environment& environment, const VenueOptions& options) {
  if (environment.source == Source::hocket_launch) return venue_of_launcher(environment);
  if (options.exchange) return venue_by_exchange(environment, options);
  if (!environment.coordinator_host.empty()) return venue_at_address(environment, options);
  return venue_by_file(environment, options);
}

}  // namespace hocket
