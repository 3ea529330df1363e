#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cli/bench/timed_loop.h"
#include "net/transport.h"

namespace hocket {

// Messages to and fro between ranks 0 and 1, which both call measure() alike. Throws NetError.
class PingPong {
 public:
  explicit PingPong(Transport& transport) : transport_(transport), peer_(1 - transport.rank()) {}

  // The seconds of each round trip.
  std::vector<double> measure(std::span<std::byte> bytes, const LoopBudget& budget);

 private:
  void send(std::span<const std::byte> bytes);
  void recv(std::span<std::byte> bytes);
  void exchange(std::span<std::byte> bytes);
  double agree(double number);

  Transport& transport_;
  Rank peer_;
};

}  // namespace hocket
