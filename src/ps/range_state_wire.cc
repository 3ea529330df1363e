// A whole range as bytes, for a replica that joins: written by save() in the order that restore() reads.
#include "base/error.h"
#include "ps/range_state.h"
#include "ps/state_wire.h"

namespace hocket {
std::vector<std::byte> RangeState::save() const {
  WireWriter out;
  for (const std::int64_t number : {step_, version_, applied_, samples_, serials_}) out.put(number);
  put_real(out, loss_);
  put_message(out, status(0));
  for (const bool is_lost : is_lost_) out.put(static_cast<std::uint8_t>(is_lost));
  out.put(static_cast<std::uint32_t>(last_.size()));
  for (const auto& [client, last] : last_) {
    put_node(out, client);
    put_sequence(out, last.sequence);
    out.put(static_cast<std::uint8_t>(last.was_dropped));
  }
  out.put(static_cast<std::uint32_t>(kept_.size()));
  for (const auto& [serial, kept] : kept_) {
    out.put(serial);
    put_message(out, ChangeRequest{0, 0, kept.client, kept.sequence, kept.push});
  }
  put_block(out, consistency_->save());
  out.put(static_cast<std::uint8_t>(store_ != nullptr));
  if (store_) {
    put_message(out, ChangeRequest{0, 0, {}, {}, Init{spec_, step_, store_->read({}), {}}});
    put_block(out, store_->save());
  }
  return out.take();
}

void RangeState::restore(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  for (std::int64_t* number : {&step_, &version_, &applied_, &samples_, &serials_})
    *number = in.get<std::int64_t>();
  loss_ = get_real(in);
  slices_ = get_message<RangeStatus>(in).slices;
  for (std::size_t worker = 0; worker < is_lost_.size(); ++worker)
    is_lost_[worker] = in.get<std::uint8_t>() != 0;
  for (auto count = in.get<std::uint32_t>(); count > 0 && in.is_good(); --count) {
    Last& last = last_[get_node(in)];
    last.sequence = get_sequence(in);
    last.was_dropped = in.get<std::uint8_t>() != 0;
  }
  for (auto count = in.get<std::uint32_t>(); count > 0 && in.is_good(); --count) {
    Kept& kept = kept_[in.get<std::int64_t>()];
    ChangeRequest request = get_message<ChangeRequest>(in);
    const auto* push = std::get_if<Push>(&request.change);
    if (!push || !is_worker(push->slice)) throw NetError("a range as sent keeps what is no gradient");
    kept = {request.client, request.sequence, *push};
  }
  consistency_->restore(get_block(in));
  if (in.get<std::uint8_t>() != 0) {
    const ChangeRequest request = get_message<ChangeRequest>(in);
    const auto* init = std::get_if<Init>(&request.change);
    if (!init) throw NetError("a range as sent has no beginning");
    set_store(*init);
    store_->restore(get_block(in));
  }
  if (!in.is_good() || !in.is_at_end() || slices_.size() != is_lost_.size())
    throw NetError("a range as sent is torn ({} bytes)", bytes.size());
}

}  // namespace hocket
