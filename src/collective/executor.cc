#include "collective/executor.h"

#include <cstring>

#include "base/error.h"

namespace hocket {

namespace {

Label with_round(Label label, int round, int rounds) {
  label.words[3] = (static_cast<std::uint64_t>(round) << 32) | static_cast<std::uint32_t>(rounds);
  return label;
}

}  // namespace

// What a message that is reduced as it arrives goes into.
struct Executor::Reduce {
  Fold fold;
  DType dtype;
  std::byte* into;

  static void take(void* context, std::size_t offset, std::span<const std::byte> bytes) {
    const auto& to = *static_cast<const Reduce*>(context);
    fold_into(to.fold, to.dtype, to.into + offset, bytes.data(), bytes.size() / size_of(to.dtype));
  }
};

void Executor::run(const Schedule& schedule, const Operation& operation, const Label& label) {
  const std::size_t scratch_bytes = schedule.scratch_size() * operation.element_bytes();
  if (scratch_.size() < scratch_bytes) scratch_.resize(scratch_bytes);
  for (int i = 0; i < schedule.rounds(); ++i) {
    schedule.round(i, round_);
    run_round(operation, with_round(label, i, schedule.rounds()));
  }
}

void Executor::run_round(const Operation& operation, const Label& label) {
  transport_.begin_round();
  for (const Action& action : round_) {
    if (!action.is_message()) continue;
    ++transport_.traffic().rounds;
    break;
  }
  start_sends(operation, label);
  for (const Action& action : round_) {
    if (action.is_send()) continue;
    if (action.is_message()) {
      receive(action, operation, label);
    } else {
      work(action, operation);
    }
  }
  for (const Pending& send : sends_) transport_.wait(send);
}

void Executor::start_sends(const Operation& operation, const Label& label) {
  sends_.clear();
  for (const Action& action : round_) {
    if (!action.is_send()) continue;
    const std::byte* from = address(action.buffer, action.range.offset, operation);
    sends_.push_back(
        transport_.send(action.peer, label, {from, action.range.size * operation.element_bytes()}));
  }
}

void Executor::receive(const Action& action, const Operation& operation, const Label& label) {
  std::byte* into = address(action.buffer, action.range.offset, operation);
  const std::size_t bytes = action.range.size * operation.element_bytes();
  if (action.kind == Action::Kind::recv) {
    transport_.wait(transport_.recv(action.peer, label, std::span(into, bytes)));
  } else {
    Reduce reduce{fold_of(operation.reduction), operation.dtype, into};
    transport_.wait(transport_.recv(action.peer, label, bytes, {&Reduce::take, &reduce}));
  }
}

void Executor::work(const Action& action, const Operation& operation) {
  std::byte* into = address(action.buffer, action.range.offset, operation);
  const std::byte* from = address(action.source, action.source_offset, operation);
  if (action.kind == Action::Kind::copy) {
    std::memmove(into, from, action.range.size * operation.element_bytes());
  } else {
    fold_into(fold_of(operation.reduction), operation.dtype, into, from, action.range.size);
  }
}

std::byte* Executor::address(Buffer buffer, std::size_t offset, const Operation& operation) {
  const std::size_t bytes = offset * operation.element_bytes();
  switch (buffer) {
    case Buffer::data: return operation.data + bytes;
    case Buffer::input: return const_cast<std::byte*>(operation.input) + bytes;  // Schedules only read it.
    case Buffer::scratch: break;
  }
  return scratch_.data() + bytes;
}

}  // namespace hocket
