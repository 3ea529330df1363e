#include "cli/bench/ping_pong.h"

namespace hocket {

std::vector<double> PingPong::measure(std::span<std::byte> bytes, const LoopBudget& budget) {
  return timed_loop(
      budget, [&] { exchange(bytes); }, [&](double number) { return agree(number); });
}

void PingPong::send(std::span<const std::byte> bytes) {
  transport_.wait(transport_.send(peer_, {{bytes.size()}}, bytes));
}

void PingPong::recv(std::span<std::byte> bytes) {
  transport_.wait(transport_.recv(peer_, {{bytes.size()}}, bytes));
}

void PingPong::exchange(std::span<std::byte> bytes) {
  if (transport_.rank() == 0) send(bytes);
  recv(bytes);
  if (transport_.rank() != 0) send(bytes);
}

double PingPong::agree(double number) {
  const auto bytes = std::as_writable_bytes(std::span(&number, 1));
  if (transport_.rank() == 0) {
    send(bytes);
  } else {
    recv(bytes);
  }
  return number;
}

}  // namespace hocket
