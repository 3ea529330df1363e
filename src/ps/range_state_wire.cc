// A whole range as bytes, for a replica that joins: written by save() in the order that restore() reads.
#include "base/error.h"
#include "ps/range_state.h"
#include "ps/state_wire.h"

namespace hocket {
namespace {

void put_spec(WireWriter& out, const RangeSpec& spec) {
  const OptimizerSpec& rule = spec.optimizer;
  out.put(static_cast<std::uint8_t>(spec.dtype));
  out.put_text(rule.rule);
  for (const double number :
       {rule.momentum, rule.beta1, rule.beta2, rule.eps, rule.weight_decay, rule.clip, spec.spread}) {
    put_real(out, number);
  }
  out.put(spec.width);
  out.put(spec.seed);
  out.put(static_cast<std::uint32_t>(spec.segments.size()));
  for (const Segment& segment : spec.segments) {
    out.put(segment.begin);
    out.put(segment.count);
    put_real(out, segment.decay);
    out.put(static_cast<std::uint8_t>(segment.is_sum));
  }
}

RangeSpec get_spec(WireReader& in) {
  RangeSpec spec;
  OptimizerSpec& rule = spec.optimizer;
  spec.dtype = static_cast<DType>(in.get<std::uint8_t>());
  rule.rule = in.get_text();
  for (double* number :
       {&rule.momentum, &rule.beta1, &rule.beta2, &rule.eps, &rule.weight_decay, &rule.clip, &spec.spread}) {
    *number = get_real(in);
  }
  spec.width = in.get<std::int64_t>();
  spec.seed = in.get<std::uint64_t>();
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.is_good(); ++i) {
    Segment& segment = spec.segments.emplace_back();
    segment.begin = in.get<std::int64_t>();
    segment.count = in.get<std::int64_t>();
    segment.decay = get_real(in);
    segment.is_sum = in.get<std::uint8_t>() != 0;
  }
  return spec;
}

void put_push(WireWriter& out, const Push& push) {
  out.put(push.slice);
  out.put(push.clock);
  out.put(push.version);
  put_block(out, push.ids.bytes);
  put_block(out, push.values.bytes);
  put_real(out, push.loss);
  out.put(push.samples);
}

Push get_push(WireReader& in) {
  Push push;
  push.slice = in.get<std::int32_t>();
  push.clock = in.get<std::int64_t>();
  push.version = in.get<std::int64_t>();
  push.ids = Payload::copy_of(get_block(in));
  push.values = Payload::copy_of(get_block(in));
  push.loss = get_real(in);
  push.samples = in.get<std::int64_t>();
  return push;
}

void put_slice(WireWriter& out, const SliceStatus& slice) {
  out.put(slice.clock);
  out.put(slice.dropped);
  put_list(out, slice.staleness);
  put_real(out, slice.compute_seconds);
  put_real(out, slice.wait_seconds);
}

SliceStatus get_slice(WireReader& in) {
  SliceStatus slice;
  slice.clock = in.get<std::int64_t>();
  slice.dropped = in.get<std::int64_t>();
  slice.staleness = get_list<std::int64_t>(in);
  slice.compute_seconds = get_real(in);
  slice.wait_seconds = get_real(in);
  return slice;
}

}  // namespace

std::vector<std::byte> RangeState::save() const {
  WireWriter out;
  for (const std::int64_t number : {step_, version_, applied_, samples_, serials_}) out.put(number);
  put_real(out, loss_);
  for (const SliceStatus& slice : slices_) put_slice(out, slice);
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
    put_node(out, kept.client);
    put_sequence(out, kept.sequence);
    put_push(out, kept.push);
  }
  put_block(out, consistency_->save());
  out.put(static_cast<std::uint8_t>(store_ != nullptr));
  if (store_) {
    put_spec(out, spec_);
    put_block(out, store_->read({}).bytes);
    put_block(out, store_->save());
  }
  return out.take();
}

void RangeState::restore(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  for (std::int64_t* number : {&step_, &version_, &applied_, &samples_, &serials_})
    *number = in.get<std::int64_t>();
  loss_ = get_real(in);
  for (SliceStatus& slice : slices_) slice = get_slice(in);
  for (std::size_t worker = 0; worker < is_lost_.size(); ++worker)
    is_lost_[worker] = in.get<std::uint8_t>() != 0;
  for (auto count = in.get<std::uint32_t>(); count > 0 && in.is_good(); --count) {
    Last& last = last_[get_node(in)];
    last.sequence = get_sequence(in);
    last.was_dropped = in.get<std::uint8_t>() != 0;
  }
  for (auto count = in.get<std::uint32_t>(); count > 0 && in.is_good(); --count) {
    Kept& kept = kept_[in.get<std::int64_t>()];
    kept.client = get_node(in);
    kept.sequence = get_sequence(in);
    kept.push = get_push(in);
    if (!is_worker(kept.push.slice))
      throw NetError("a range as sent keeps a gradient of slice {}", kept.push.slice);
  }
  consistency_->restore(get_block(in));
  if (in.get<std::uint8_t>() != 0) {
    spec_ = get_spec(in);
    const Payload values{get_block(in), nullptr};
    store_ = options_->make_store({spec_, step_, values, {}});
    store_->restore(get_block(in));
  }
  if (!in.is_good() || !in.is_at_end()) throw NetError("a range as sent is torn ({} bytes)", bytes.size());
}

}  // namespace hocket
