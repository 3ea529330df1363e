#include "cli/bench/ps_setup.h"

#include "base/error.h"
#include "net/log.h"
#include "ps/client.h"
#include "ps/node_network.h"

namespace hocket {
namespace {

constexpr Seconds kStart{30};

}  // namespace

std::string_view name_of(PsKind kind) { return kind == PsKind::dense ? "dense" : "sparse"; }

std::size_t PsSetup::keys() const {
  return bytes / (kind == PsKind::dense ? sizeof(float) : kPsWidth * sizeof(float));
}

std::size_t PsSetup::bytes_moved() const {
  const std::size_t ids = kind == PsKind::dense ? 0 : keys() * sizeof(std::uint64_t);
  return 2 * (bytes + ids);
}

std::size_t PsSetup::range_bytes(int server) const {
  const std::size_t count = bytes / sizeof(float);
  const auto all = static_cast<std::size_t>(servers), at = static_cast<std::size_t>(server);
  return (count * (at + 1) / all - count * at / all) * sizeof(float);
}

RangeSpec PsSetup::range_spec(int server) const {
  RangeSpec spec;
  spec.rate.base = 1e-3;
  if (kind == PsKind::dense) {
    spec.optimizer.rule = "sgd";
    spec.segments = {{0, static_cast<std::int64_t>(range_bytes(server) / sizeof(float)), 0, false}};
  } else {
    spec.optimizer.rule = "adagrad";
    spec.width = kPsWidth;
    spec.spread = 0.01;
  }
  return spec;
}

TrainOptions PsSetup::train_options() const {
  TrainOptions options;
  options.sync = "ps:asp";
  options.workers = workers;
  options.servers = servers;
  options.replicas = replicas;
  return options;
}

void give_ps_ranges(const PsSetup& setup, const NodePlace& place) {
  NodeNetwork network(network_at(place), log_to_stderr());
  Client client(place.me, network);
  for (int server = 0; server < setup.servers; ++server) {
    client.change(server, Init{setup.range_spec(server)}, Clock::now());
  }
  const auto is_done = [&] {
    for (int server = 0; server < setup.servers; ++server) {
      if (!client.is_done(server)) return false;
    }
    return true;
  };
  const TimePoint deadline = after(kStart);
  while (!is_done()) {
    if (Clock::now() > deadline) throw NetError("the servers have not started within {} s", kStart.count());
    const auto deliver = [&](const NodeId& from, const Message& message) {
      client.on_message(from, message, Clock::now());
    };
    network.poll(client.next_deadline(), deliver);
    client.on_time(Clock::now());
  }
}

}  // namespace hocket
