#include "ps/message_wire.h"

#include <bit>
#include <utility>

#include "base/error.h"
#include "net/wire.h"

namespace hocket {
namespace {

// Payloads start on this boundary of their message, so that their numbers can be read where they are.
constexpr std::size_t kPayloadAlignment = 16;
constexpr std::size_t kMaxItems = std::size_t{1} << 20;

// How a list of ids travels.
enum class IdsForm : std::uint8_t { once, remembered, known };

// Writes and reads what messages are made of with one description of each: `io(x)` does both.
class Writing {
 public:
  Writing(const PlaceOf& place_of, KnownIds* sent) : place_of_(place_of), sent_(sent) {}

  template <std::integral T>
  void operator()(const T& value) {
    out_.put(value);
  }
  void operator()(const bool& value) { out_.put(static_cast<std::uint8_t>(value)); }
  void operator()(const double& value) { out_.put(std::bit_cast<std::uint64_t>(value)); }
  void operator()(const std::string& text) { out_.put_text(text); }
  template <typename T>
  requires std::is_enum_v<T>
  void operator()(const T& value) { out_.put(static_cast<std::uint8_t>(value)); }
  void operator()(const Payload& payload);
  void ids(const Payload& ids);
  template <typename T>
  void operator()(const std::vector<T>& items);
  template <typename T>
  requires std::is_class_v<T>
  void operator()(const T& value);
  template <typename... Ts>
  void operator()(const std::variant<Ts...>& value);

  std::vector<std::byte> take() { return out_.take(); }

 private:
  WireWriter out_;
  const PlaceOf& place_of_;
  KnownIds* sent_;
};

class Reading {
 public:
  Reading(const std::shared_ptr<const std::vector<std::byte>>& bytes, const Payload& memory, KnownIds* heard)
      : bytes_(bytes), in_(*bytes), memory_(memory), heard_(heard) {}

  template <std::integral T>
  void operator()(T& value) {
    value = in_.get<T>();
  }
  void operator()(bool& value) { value = in_.get<std::uint8_t>() != 0; }
  void operator()(double& value) { value = std::bit_cast<double>(in_.get<std::uint64_t>()); }
  void operator()(std::string& text) { text = in_.get_text(); }
  void operator()(NodeKind& kind) { kind = enumerator(NodeKind::recorder); }
  void operator()(DType& dtype) { dtype = enumerator(DType::u8); }
  void operator()(IdsForm& form) { form = enumerator(IdsForm::known); }
  void operator()(Payload& payload);
  void ids(Payload& ids);
  template <typename T>
  void operator()(std::vector<T>& items);
  template <typename T>
  requires std::is_class_v<T>
  void operator()(T& value);
  template <typename... Ts>
  void operator()(std::variant<Ts...>& value);

  bool is_good() const { return is_good_ && in_.is_good(); }
  bool is_at_end() const { return in_.is_at_end(); }

 private:
  // One of those up to `last`.
  template <typename T>
  T enumerator(T last) {
    const auto value = in_.get<std::uint8_t>();
    is_good_ = is_good_ && value <= static_cast<std::uint8_t>(last);
    return is_good_ ? static_cast<T>(value) : T{};
  }
  template <typename Variant, std::size_t... kIndex>
  static Variant alternative(std::size_t index, std::index_sequence<kIndex...> /*all*/) {
    Variant value;
    (void)((index == kIndex && (value.template emplace<kIndex>(), true)) || ...);
    return value;
  }

  const std::shared_ptr<const std::vector<std::byte>>& bytes_;
  WireReader in_;
  const Payload& memory_;
  KnownIds* heard_;
  bool is_good_ = true;
};

template <typename Io>
void fields(Io& io, auto& x) {
  using T = std::remove_cvref_t<decltype(x)>;
  const auto all = [&](auto&... members) { (io(members), ...); };
  if constexpr (std::is_same_v<T, NodeId>) {
    all(x.kind, x.index);
  } else if constexpr (std::is_same_v<T, Sequence>) {
    all(x.incarnation, x.number);
  } else if constexpr (std::is_same_v<T, Segment>) {
    all(x.begin, x.count, x.decay, x.is_sum);
  } else if constexpr (std::is_same_v<T, OptimizerSpec>) {
    all(x.rule, x.momentum, x.beta1, x.beta2, x.eps, x.weight_decay, x.clip);
  } else if constexpr (std::is_same_v<T, RateSpec>) {
    all(x.schedule, x.base, x.warmup, x.total_steps, x.steps_per_epoch);
  } else if constexpr (std::is_same_v<T, RangeSpec>) {
    all(x.dtype, x.optimizer, x.rate, x.segments, x.width, x.seed, x.spread);
  } else if constexpr (std::is_same_v<T, Init>) {
    all(x.spec, x.step, x.values, x.state);
  } else if constexpr (std::is_same_v<T, WorkerAccount>) {
    all(x.compute_seconds, x.wait_seconds, x.cpu_seconds, x.bytes_moved, x.messages_sent, x.peak_rss_bytes);
  } else if constexpr (std::is_same_v<T, Push>) {
    all(x.slice, x.clock, x.version);
    io.ids(x.ids);
    all(x.values, x.loss, x.samples, x.batches, x.account);
  } else if constexpr (std::is_same_v<T, WorkerLost> || std::is_same_v<T, WorkerJoined>) {
    all(x.worker);
  } else if constexpr (std::is_same_v<T, ChangeRequest>) {
    all(x.range, x.epoch, x.client, x.sequence, x.change);
  } else if constexpr (std::is_same_v<T, ChangeDone>) {
    all(x.range, x.sequence, x.was_dropped);
  } else if constexpr (std::is_same_v<T, PullRequest>) {
    all(x.range, x.epoch, x.client, x.request, x.clock);
    io.ids(x.ids);
    all(x.with_state, x.destination);
  } else if constexpr (std::is_same_v<T, RangeProgress>) {
    all(x.version, x.batches, x.samples, x.loss);
  } else if constexpr (std::is_same_v<T, PullDone>) {
    all(x.range, x.request, x.progress, x.values, x.state, x.destination);
  } else if constexpr (std::is_same_v<T, StatusRequest>) {
    all(x.range, x.client);
  } else if constexpr (std::is_same_v<T, SliceStatus>) {
    all(x.clock, x.dropped, x.staleness, x.account);
  } else if constexpr (std::is_same_v<T, RangeStatus>) {
    all(x.range, x.progress, x.slices);
  } else if constexpr (std::is_same_v<T, Misdirected>) {
    all(x.range, x.epoch);
  } else if constexpr (std::is_same_v<T, Forward>) {
    all(x.range, x.epoch, x.index, x.request);
  } else if constexpr (std::is_same_v<T, ForwardDone>) {
    all(x.range, x.epoch, x.index);
  } else if constexpr (std::is_same_v<T, Snapshot>) {
    all(x.range, x.epoch, x.index, x.state);
  } else if constexpr (std::is_same_v<T, View::Chain>) {
    all(x.servers, x.joining, x.joined, x.handed_over);
  } else if constexpr (std::is_same_v<T, View>) {
    all(x.epoch, x.chains, x.slices, x.incarnations, x.servers, x.is_over);
  } else if constexpr (std::is_same_v<T, Heartbeat>) {
    all(x.node, x.incarnation, x.epoch, x.sent_at, x.caught_up, x.is_leaving);
  } else if constexpr (std::is_same_v<T, HeartbeatDone>) {
    all(x.incarnation, x.sent_at, x.lease_seconds);
  } else if constexpr (std::is_same_v<T, Parcel>) {
    all(x.bytes);
  } else if constexpr (std::is_same_v<T, Introduction>) {
    all(x.port, x.host_id, x.pid, x.memory_fd, x.memory_bytes);
  } else if constexpr (std::is_same_v<T, Address>) {
    all(x.node, x.address, x.port);
  } else if constexpr (std::is_same_v<T, Directory>) {
    all(x.addresses);
  } else if constexpr (std::is_same_v<T, Delayed>) {
    all(x.posted, x.carried, x.bytes, x.message);
  } else {
    static_assert(std::is_empty_v<T>);
  }
}

// A payload is (how, size, what): 0 and its bytes after zeros up to the next boundary, or 1 and its place.
void Writing::operator()(const Payload& payload) {
  const std::optional<std::uint64_t> place =
      place_of_ && !payload.bytes.empty() ? place_of_(payload.bytes) : std::nullopt;
  (*this)(place.has_value());
  (*this)(static_cast<std::uint64_t>(payload.bytes.size()));
  if (place) return (*this)(*place);
  const std::size_t over = out_.bytes().size() % kPayloadAlignment;
  for (std::size_t i = over; i % kPayloadAlignment != 0; ++i) out_.put(std::uint8_t{0});
  out_.put_bytes(payload.bytes);
}

void Reading::operator()(Payload& payload) {
  const bool is_elsewhere = in_.get<std::uint8_t>() != 0;
  const auto size = in_.get<std::uint64_t>();
  if (is_elsewhere) {
    const auto place = in_.get<std::uint64_t>();
    const bool fits = place <= memory_.bytes.size() && size <= memory_.bytes.size() - place;
    is_good_ = is_good_ && fits;
    if (fits) payload = {memory_.bytes.subspan(place, size), memory_.owner, true};
    return;
  }
  const std::size_t over = in_.position() % kPayloadAlignment;
  if (over != 0) in_.get_bytes(kPayloadAlignment - over);
  payload = {in_.get_bytes(size), bytes_};
}

void Writing::ids(const Payload& ids) {
  const auto number = sent_ != nullptr ? sent_->find(ids.bytes) : std::nullopt;
  if (number) {
    (*this)(IdsForm::known);
    return (*this)(*number);
  }
  const bool is_remembered = sent_ != nullptr && !ids.bytes.empty();
  (*this)(is_remembered ? IdsForm::remembered : IdsForm::once);
  (*this)(ids);
  if (is_remembered) sent_->add(ids.bytes);
}

void Reading::ids(Payload& ids) {
  IdsForm form{};
  (*this)(form);
  if (form == IdsForm::once) return (*this)(ids);
  is_good_ = is_good_ && heard_ != nullptr;
  if (!is_good()) return;
  if (form == IdsForm::remembered) {
    (*this)(ids);
    if (is_good()) heard_->add(ids.bytes);
  } else if (const Payload* known = heard_->at(in_.get<std::uint8_t>())) {
    ids = *known;
  } else {
    is_good_ = false;
  }
}

template <typename T>
void Writing::operator()(const std::vector<T>& items) {
  out_.put(static_cast<std::uint32_t>(items.size()));
  for (const T& item : items) (*this)(item);
}

template <typename T>
void Reading::operator()(std::vector<T>& items) {
  const auto count = in_.get<std::uint32_t>();
  is_good_ = is_good_ && count <= kMaxItems;
  items.clear();
  for (std::uint32_t i = 0; i < count && is_good(); ++i) (*this)(items.emplace_back());
}

template <typename T>
requires std::is_class_v<T>
void Writing::operator()(const T& value) { fields(*this, value); }

template <typename T>
requires std::is_class_v<T>
void Reading::operator()(T& value) { fields(*this, value); }

template <typename... Ts>
void Writing::operator()(const std::variant<Ts...>& value) {
  out_.put(static_cast<std::uint8_t>(value.index()));
  std::visit([&](const auto& alternative) { (*this)(alternative); }, value);
}

template <typename... Ts>
void Reading::operator()(std::variant<Ts...>& value) {
  const std::size_t index = in_.get<std::uint8_t>();
  is_good_ = is_good_ && index < sizeof...(Ts);
  value = alternative<std::variant<Ts...>>(index, std::index_sequence_for<Ts...>());
  std::visit([&](auto& found) { (*this)(found); }, value);
}

}  // namespace

std::vector<std::byte> encode(const NodeFrame& frame, const PlaceOf& place_of, KnownIds* sent) {
  Writing out(place_of, sent);
  out(frame);
  return out.take();
}

NodeFrame decode_frame(const std::shared_ptr<const std::vector<std::byte>>& bytes, const Payload& memory,
                       KnownIds* heard) {
  Reading in(bytes, memory, heard);
  NodeFrame frame;
  in(frame);
  if (!in.is_good() || !in.is_at_end()) {
    throw NetError("{} bytes are no message between servers and workers", bytes->size());
  }
  return frame;
}

}  // namespace hocket
