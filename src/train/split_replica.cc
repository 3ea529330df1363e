#include "train/split_replica.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "base/error.h"
#include "net/stream_transport.h"
#include "tensor/box.h"
#include "tensor/kernels/threads.h"

namespace hocket {
namespace {

Tensor whole_of(const Arena& arena, const ArenaLayout& layout, const std::string& name) {
  return view_of(arena, layout.at(name));
}

// Of those that have all of it, the first rank speaks.
bool is_owner(const Piece& piece, Rank rank) { return rank == 0 || !piece.shard.is_whole(); }

template <typename T>
void add_to(std::span<std::byte> sum, std::span<const std::byte> term) {
  auto* to = reinterpret_cast<T*>(sum.data());
  const auto* from = reinterpret_cast<const T*>(term.data());
  for (std::size_t i = 0; i < sum.size() / sizeof(T); ++i) to[i] += from[i];
}

}  // namespace

SplitReplica::SplitReplica(const TrainOptions& options, const TrainOptions& own, const Dataset& data,
                           Session& whole, int ranks)
    : options_(options), own_(own), data_(data), whole_(whole), ranks_(ranks) {
  connectors_.reserve(static_cast<std::size_t>(ranks));
  for (Rank rank = 0; rank < ranks; ++rank) {
    connectors_.push_back(std::make_unique<InprocConnector>(hub_, rank));
  }
  threads_.reserve(static_cast<std::size_t>(ranks));
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads_.emplace_back([this, rank] { work(rank); });
  }
}

SplitReplica::~SplitReplica() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
}

SliceGradient::Outcome SplitReplica::compute(int slice, std::int64_t clock, bool adds) {
  const std::span<std::byte> gradients = whole_.memory().gradients.bytes();
  std::vector<std::byte> before;
  if (adds) before.assign(gradients.begin(), gradients.end());
  std::unique_lock lock(mutex_);
  task_ = {slice, clock};
  ++tasks_;
  reports_ = 0;
  changed_.notify_all();
  while (reports_ < ranks_ && failure_ == nullptr) changed_.wait(lock);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  if (adds && options_.dtype == "f64") add_to<double>(gradients, before);
  if (adds && options_.dtype != "f64") add_to<float>(gradients, before);
  return outcome_;
}

std::unique_ptr<Transport> SplitReplica::transport_of(Rank rank) {
  TransportOptions options;
  options.crowded = true;
  std::vector<Rank> members(static_cast<std::size_t>(ranks_));
  std::iota(members.begin(), members.end(), 0);
  return std::make_unique<StreamTransport>(*connectors_[static_cast<std::size_t>(rank)], 0, members, rank,
                                           health_, options);
}

void SplitReplica::work(Rank rank) {
  try {
    kernel::set_num_threads(std::max(1, options_.threads));
    Team team(transport_of(rank), Mesh({{"tp", ranks_}}));
    std::deque<Arena> arenas;
    Session session(
        own_, data_.info(), team, [&](std::size_t bytes) { return arenas.emplace_back(bytes).bytes(); },
        false);
    SliceGradient gradient(options_, data_, session, options_.workers, false);
    for (std::int64_t done = 0; const std::optional<Task> task = next(done); ++done) {
      take_values(session);
      const SliceGradient::Outcome outcome = gradient.compute(task->slice, task->clock, false);
      give_results(session, rank);
      report(rank, outcome);
    }
  } catch (const std::exception& error) {
    fail(rank, error.what());
  }
}

std::optional<SplitReplica::Task> SplitReplica::next(std::int64_t done) {
  std::unique_lock lock(mutex_);
  while (tasks_ == done && !is_over_) changed_.wait(lock);
  return is_over_ ? std::nullopt : std::optional(task_);
}

void SplitReplica::report(Rank rank, const SliceGradient::Outcome& outcome) {
  {
    const std::lock_guard lock(mutex_);
    if (rank == 0) outcome_ = outcome;
    ++reports_;
  }
  changed_.notify_all();
}

// The others, who may wait for this one, give up.
void SplitReplica::fail(Rank rank, const char* what) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
  changed_.notify_all();
  health_.report({rank, what});
}

void SplitReplica::take_values(Session& session) {
  const StepLayouts& layouts = whole_.program().layouts();
  for (const Piece& piece : session.program().pieces(Role::parameter)) {
    copy_piece(whole_of(whole_.memory().parameters, layouts.parameters, piece.name()), piece,
               view_of(session.memory().parameters, piece));
  }
  for (const Piece& piece : session.program().pieces(Role::buffer)) {
    copy_piece(whole_of(whole_.memory().buffers, layouts.buffers, piece.name()), piece,
               view_of(session.memory().buffers, piece));
  }
}

// Each rank writes other elements.
void SplitReplica::give_results(Session& session, Rank rank) {
  const StepLayouts& layouts = whole_.program().layouts();
  const StepLayouts& own = session.program().layouts();
  for (const Piece& piece : session.program().pieces(Role::parameter)) {
    if (!is_owner(piece, rank)) continue;
    copy_to_box(view_of(session.memory().gradients, own.gradients.at(piece.name())),
                whole_of(whole_.memory().gradients, layouts.gradients, piece.name()), piece.shard.begin);
  }
  for (const Piece& piece : session.program().pieces(Role::buffer)) {
    if (!is_owner(piece, rank)) continue;
    copy_to_box(view_of(session.memory().buffers, piece),
                whole_of(whole_.memory().buffers, layouts.buffers, piece.name()), piece.shard.begin);
  }
}

}  // namespace hocket
