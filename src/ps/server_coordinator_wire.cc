// The coordinator's state as bytes: what save() writes, load() reads in the same order.
#include "base/error.h"
#include "ps/server_coordinator.h"
#include "ps/state_wire.h"

namespace hocket {
namespace {

constexpr std::uint32_t kFormat = 0x31435048;  // "HPC1"

}  // namespace

void ServerCoordinator::save() {
  WireWriter out;
  out.put(kFormat);
  out.put(incarnation_);
  put_message(out, view_);
  out.put(static_cast<std::uint32_t>(seats_.size()));
  for (const auto& [node, seat] : seats_) {
    put_node(out, node);
    out.put(seat.incarnation);
    out.put(seat.started);
  }
  disk_.save(out.bytes());
}

void ServerCoordinator::load(std::span<const std::byte> bytes, TimePoint now) try {
  WireReader in(bytes);
  const auto format = in.get<std::uint32_t>();
  incarnation_ = in.get<std::int32_t>() + 1;
  view_ = get_message<View>(in);
  quiet_until_ = later(now, options_.timing.silence());
  for (auto count = in.get<std::uint32_t>(); count > 0 && in.is_good(); --count) {
    Seat& seat = seats_[get_node(in)];
    seat.incarnation = in.get<std::int32_t>();
    seat.started = in.get<std::int64_t>();
    seat.heard = now;
    seat.fenced = quiet_until_;
  }
  const bool fits =
      view_.epoch == 0 || (view_.chains.size() == changes_.size() &&
                           view_.incarnations.size() == static_cast<std::size_t>(options_.workers));
  if (format != kFormat || !in.is_good() || !in.is_at_end() || !fits)
    throw DataError("the coordinator's state ({} bytes) is not that of this run", bytes.size());
  is_over_ = view_.is_over;
  for (std::size_t worker = 0; worker < view_.incarnations.size(); ++worker)
    tell_of_worker(static_cast<int>(worker), view_.incarnations[worker] >= 0);
} catch (const NetError& error) {
  throw DataError("the coordinator's state ({} bytes) cannot be read: {}", bytes.size(), error.what());
}

}  // namespace hocket
