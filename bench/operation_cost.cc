// What does it cost that every operation is accounted for: labelled, compared, counted and recorded? Does
// these things alone a million times, on one core, and beside it a million all-reduces of one element by two
// ranks on shared memory, which do them too.
//
//   bench_operation_cost
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "collective/flight_recorder.h"
#include "collective/group.h"
#include "collective/operation.h"
#include "net/inproc_connector.h"
#include "net/stream_transport.h"

namespace hocket {
namespace {

constexpr int kOperations = 1'000'000;
constexpr double kMostMicroseconds = 0.3;

double seconds_since(TimePoint start) { return Seconds(Clock::now() - start).count(); }

Operation small_sum(float& element) {
  Operation operation;
  operation.data = reinterpret_cast<std::byte*>(&element);
  operation.count = 1;
  return operation;
}

template <typename Value>
void keep(Value& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

// Microseconds that accounting takes, by itself.
double accounting() {
  float element = 0;
  Operation operation = small_sum(element);
  FlightRecorder recorder;
  Label theirs;
  Traffic traffic;
  int mismatches = 0;
  const TimePoint start = Clock::now();
  for (unsigned i = 0; i < kOperations; ++i) {
    keep(operation);
    const Label label = label_of(operation, 0, i);
    recorder.start(label);
    theirs = label;
    keep(theirs);
    mismatches += theirs == label ? 0 : 1;
    traffic.messages_sent += 1;
    traffic.bytes_sent += 4;
    traffic.messages_received += 1;
    traffic.bytes_received += 4;
    keep(traffic);
    recorder.finish();
  }
  keep(mismatches);
  return seconds_since(start) / kOperations * 1e6;
}

void run_rank(InprocHub& hub, Health& health, Rank rank, double& us) {
  InprocConnector connector(hub, rank);
  Group group(std::make_unique<StreamTransport>(connector, 0, std::vector<Rank>{0, 1}, rank, health,
                                                TransportOptions{}));
  float element = 0;
  const Operation operation = small_sum(element);
  group.barrier();
  const TimePoint start = Clock::now();
  for (int i = 0; i < kOperations; ++i) group.run(operation);
  us = seconds_since(start) / kOperations * 1e6;
}

double whole_operation() {
  InprocHub hub;
  Health health;
  double us[2] = {};
  {
    std::vector<std::jthread> ranks;
    for (const Rank rank : {0, 1}) ranks.emplace_back([&, rank] { run_rank(hub, health, rank, us[rank]); });
  }
  return us[0];
}

}  // namespace
}  // namespace hocket

int main() {
  const double alone = hocket::accounting();
  const double whole = hocket::whole_operation();
  fmt::print("accounting for an operation: {:.3f} us (at most {} us: {})\n", alone, hocket::kMostMicroseconds,
             alone <= hocket::kMostMicroseconds ? "holds" : "FAILS");
  fmt::print("all-reduce of one element, two ranks, shared memory: {:.3f} us\n", whole);
}
