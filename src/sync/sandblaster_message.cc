#include "sync/sandblaster_message.h"

#include <bit>

#include "base/error.h"
#include "net/wire.h"

namespace hocket {
namespace {

constexpr std::size_t kLeastOpBytes = 3;

void put_real(WireWriter& out, double value) { out.put(std::bit_cast<std::uint64_t>(value)); }
double get_real(WireReader& in) { return std::bit_cast<double>(in.get<std::uint64_t>()); }

bool has_factor(VectorOp::Kind kind) { return kind == VectorOp::Kind::scale || kind == VectorOp::Kind::add; }

void put_op(WireWriter& out, const VectorOp& op) {
  out.put(static_cast<std::uint8_t>(op.kind));
  out.put(op.dst);
  out.put(op.src);
  if (has_factor(op.kind)) put_real(out, op.factor);
}

VectorOp get_op(WireReader& in) {
  const auto kind = in.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(VectorOp::Kind::dot))
    throw NetError("unknown vector operation {}", kind);
  VectorOp op;
  op.kind = static_cast<VectorOp::Kind>(kind);
  op.dst = in.get<VectorId>();
  op.src = in.get<VectorId>();
  if (has_factor(op.kind)) op.factor = get_real(in);
  return op;
}

// The number of things that follow, each of at least so many bytes.
std::size_t get_count(WireReader& in, std::size_t message_bytes, std::size_t least_bytes) {
  const auto count = in.get<std::uint32_t>();
  if (count > message_bytes / least_bytes)
    throw NetError("a Sandblaster message announces {} entries in {} bytes", count, message_bytes);
  return count;
}

void put_payload(WireWriter& out, const Payload& payload) {
  out.put(static_cast<std::uint64_t>(payload.bytes.size()));
  out.put_bytes(payload.bytes);
}

Payload get_payload(WireReader& in) {
  const Payload payload = Payload::copy_of(in.get_bytes(in.get<std::uint64_t>()));
  if (payload.bytes.size() % sizeof(double) != 0)
    throw NetError("a Sandblaster message has {} bytes of values", payload.bytes.size());
  return payload;
}

void put_body(WireWriter& out, const VectorBatch& batch) {
  out.put(batch.sequence);
  out.put(batch.evaluation);
  out.put(batch.portions);
  out.put(static_cast<std::uint32_t>(batch.ops.size()));
  for (const VectorOp& op : batch.ops) put_op(out, op);
}
void put_body(WireWriter& out, const VectorBatchDone& done) {
  out.put(done.sequence);
  out.put(static_cast<std::uint32_t>(done.dots.size()));
  for (const WideSum& dot : done.dots) {
    put_real(out, dot.high);
    put_real(out, dot.low);
  }
}
void put_body(WireWriter& out, const PortionTask& task) {
  out.put(task.serial);
  out.put(task.evaluation);
  out.put(task.portion);
  out.put(task.portions);
}
void put_body(WireWriter& out, const PortionDone& done) {
  out.put(done.serial);
  put_real(out, done.value);
}
void put_body(WireWriter& out, const PointRequest& request) { out.put(request.evaluation); }
void put_body(WireWriter& out, const PointReply& reply) {
  out.put(reply.evaluation);
  out.put(static_cast<std::uint8_t>(reply.is_over));
  put_payload(out, reply.values);
}
void put_body(WireWriter& out, const PortionPush& push) {
  out.put(push.evaluation);
  out.put(push.portion);
  put_payload(out, push.gradient);
}
void put_body(WireWriter& out, const PortionPushDone& done) {
  out.put(done.evaluation);
  out.put(done.portion);
}
void put_body(WireWriter& out, const PointInit& init) { put_payload(out, init.values); }
void put_body(WireWriter&, const PointInitDone&) {}
void put_body(WireWriter& out, const ProgressRequest& request) { out.put(request.iterations); }
void put_body(WireWriter& out, const SandblasterProgress& progress) {
  out.put(static_cast<std::uint8_t>(progress.state));
  out.put(progress.iterations);
  put_real(out, progress.value);
  put_real(out, progress.gradient_norm);
  for (const std::int64_t count :
       {progress.evaluations, progress.tasks, progress.backups, progress.bytes, progress.messages}) {
    out.put(count);
  }
}

VectorBatch get_batch(WireReader& in, std::size_t bytes) {
  VectorBatch batch;
  batch.sequence = in.get<std::int64_t>();
  batch.evaluation = in.get<std::int64_t>();
  batch.portions = in.get<std::int32_t>();
  const std::size_t count = get_count(in, bytes, kLeastOpBytes);
  batch.ops.reserve(count);
  for (std::size_t i = 0; i < count; ++i) batch.ops.push_back(get_op(in));
  return batch;
}

VectorBatchDone get_batch_done(WireReader& in, std::size_t bytes) {
  VectorBatchDone done;
  done.sequence = in.get<std::int64_t>();
  const std::size_t count = get_count(in, bytes, 2 * sizeof(double));
  done.dots.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    WideSum& dot = done.dots.emplace_back();
    dot.high = get_real(in);
    dot.low = get_real(in);
  }
  return done;
}

PortionTask get_task(WireReader& in) {
  PortionTask task;
  task.serial = in.get<std::int64_t>();
  task.evaluation = in.get<std::int64_t>();
  task.portion = in.get<std::int32_t>();
  task.portions = in.get<std::int32_t>();
  return task;
}

PortionDone get_portion_done(WireReader& in) {
  PortionDone done;
  done.serial = in.get<std::int64_t>();
  done.value = get_real(in);
  return done;
}

PointReply get_point(WireReader& in) {
  PointReply reply;
  reply.evaluation = in.get<std::int64_t>();
  reply.is_over = in.get<std::uint8_t>() != 0;
  reply.values = get_payload(in);
  return reply;
}

PortionPush get_push(WireReader& in) {
  PortionPush push;
  push.evaluation = in.get<std::int64_t>();
  push.portion = in.get<std::int32_t>();
  push.gradient = get_payload(in);
  return push;
}

PortionPushDone get_push_done(WireReader& in) {
  PortionPushDone done;
  done.evaluation = in.get<std::int64_t>();
  done.portion = in.get<std::int32_t>();
  return done;
}

SandblasterProgress get_progress(WireReader& in) {
  SandblasterProgress progress;
  const auto state = in.get<std::uint8_t>();
  if (state > static_cast<std::uint8_t>(LbfgsState::stalled))
    throw NetError("unknown state {} of L-BFGS", state);
  progress.state = static_cast<LbfgsState>(state);
  progress.iterations = in.get<std::int64_t>();
  progress.value = get_real(in);
  progress.gradient_norm = get_real(in);
  for (std::int64_t* count :
       {&progress.evaluations, &progress.tasks, &progress.backups, &progress.bytes, &progress.messages}) {
    *count = in.get<std::int64_t>();
  }
  return progress;
}

SandblasterMessage get_message(std::uint8_t kind, WireReader& in, std::size_t bytes) {
  switch (kind) {
    case 0: return get_batch(in, bytes);
    case 1: return get_batch_done(in, bytes);
    case 2: return get_task(in);
    case 3: return get_portion_done(in);
    case 4: return PointRequest{in.get<std::int64_t>()};
    case 5: return get_point(in);
    case 6: return get_push(in);
    case 7: return get_push_done(in);
    case 8: return PointInit{get_payload(in)};
    case 9: return PointInitDone{};
    case 10: return ProgressRequest{in.get<std::int32_t>()};
    case 11: return get_progress(in);
    default: throw NetError("unknown Sandblaster message of kind {}", kind);
  }
}

}  // namespace

std::vector<std::byte> encode(const SandblasterMessage& message) {
  WireWriter out;
  out.put(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& body) { put_body(out, body); }, message);
  return out.take();
}

SandblasterMessage decode_sandblaster(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  const auto kind = in.get<std::uint8_t>();
  const SandblasterMessage message = get_message(kind, in, bytes.size());
  if (!in.is_good() || !in.is_at_end())
    throw NetError("a Sandblaster message of kind {} has a wrong length: {} bytes", kind, bytes.size());
  return message;
}

}  // namespace hocket
