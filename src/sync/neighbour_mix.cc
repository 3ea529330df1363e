#include "sync/neighbour_mix.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace hocket {
namespace {

constexpr std::uint64_t kGossip = 0x676f73736970;  // So that no other message passes for one.

Label label_of(std::int64_t round, DType dtype, std::size_t bytes) {
  return {{kGossip, static_cast<std::uint64_t>(round), static_cast<std::uint64_t>(dtype), bytes}};
}

std::string exchange_text(const Label& label) {
  if (label.words[0] != kGossip) return "a message that is not gossip";
  return fmt::format("gossip, round {}, {} bytes of {}", label.words[1], label.words[3],
                     name_of(static_cast<DType>(label.words[2])));
}

template <typename T>
struct Sum {
  T* mixed;
  T factor;
  bool is_first;

  void add(std::size_t offset, std::span<const std::byte> bytes) const {
    const T* from = reinterpret_cast<const T*>(bytes.data());
    T* to = mixed + offset / sizeof(T);
    const std::size_t count = bytes.size() / sizeof(T);
    if (is_first) {
      for (std::size_t i = 0; i < count; ++i) to[i] = factor * from[i];
    } else {
      for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
    }
  }
  static void take(void* context, std::size_t offset, std::span<const std::byte> bytes) {
    static_cast<const Sum*>(context)->add(offset, bytes);
  }
};

template <typename T>
void add_up(Transport& transport, const Mixing& mixing, const Label& label, std::span<const std::byte> own,
            std::byte* mixed) {
  for (std::size_t i = 0; i < mixing.sources().size(); ++i) {
    Sum<T> sum{reinterpret_cast<T*>(mixed), static_cast<T>(mixing.factors()[i]), i == 0};
    const int source = mixing.sources()[i];
    if (source == transport.rank()) {
      sum.add(0, own);
    } else {
      transport.wait(transport.recv(source, label, own.size(), {Sum<T>::take, &sum}));
    }
  }
}

}  // namespace

NeighbourMix::NeighbourMix(Transport& transport, const PeerGraph& graph, std::int64_t rounds)
    : transport_(transport),
      mixing_(graph, transport.rank()),
      targets_(graph.to(transport.rank())),
      rounds_(rounds) {
  for (std::int64_t round = 0; graph.is_directed() && round < rounds; ++round) mixing_.advance();
  HOCKET_CHECK(graph.size() == transport.size(), "a graph of {} for {} ranks", graph.size(),
               transport.size());
  transport_.set_label_text(exchange_text);
  sends_.reserve(targets_.size());
}

// Sends move while the sums wait, so that no order of neighbours can make two peers wait for each other.
void NeighbourMix::run(DType dtype, std::span<const std::byte> own, std::span<std::byte> mixed) {
  HOCKET_CHECK(own.size() == mixed.size(), "{} bytes mixed into {}", own.size(), mixed.size());
  HOCKET_CHECK(dtype == DType::f32 || dtype == DType::f64, "gossip of {}", name_of(dtype));
  const Label label = label_of(++rounds_, dtype, own.size());
  transport_.begin_round();
  sends_.clear();
  for (const int target : targets_) sends_.push_back(transport_.send(target, label, own));
  if (dtype == DType::f64) add_up<double>(transport_, mixing_, label, own, mixed.data());
  if (dtype == DType::f32) add_up<float>(transport_, mixing_, label, own, mixed.data());
  for (const Pending& send : sends_) transport_.wait(send);
  ++transport_.traffic().rounds;
  mixing_.advance();
}

}  // namespace hocket
