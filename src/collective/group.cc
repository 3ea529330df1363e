#include "collective/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "tensor/arena.h"

namespace hocket {

namespace {

constexpr std::size_t kMostPlans = 64;
constexpr std::size_t kMostExchanged = std::size_t{1}
                                       << 16;  // Received by a rank; beyond it a second round pays.

bool is_plan_for(const Call& call, const Operation& operation) {
  return call.collective == operation.collective && call.algorithm == operation.algorithm &&
         call.count == operation.count && call.root == operation.root &&
         std::ranges::equal(call.blocks, operation.blocks);
}

// What a mean still has to be divided where the sum is complete.
Range summed_part(const Plan& plan, Rank me) {
  const Call& call = plan.call;
  if (call.collective == Collective::all_reduce) return {0, call.count};
  if (call.collective == Collective::reduce) return {0, me == call.root ? call.count : 0};
  return call.collective == Collective::reduce_scatter ? plan.mine : Range{};
}

}  // namespace

Group::Group(std::unique_ptr<Transport> transport, GroupOptions options)
    : transport_(std::move(transport)), options_(std::move(options)), executor_(*transport_) {
  transport_->set_label_text([](const Label& label) { return text_of(label); });
  if (SharedMemory* memory = transport_->shared_memory())
    direct_ = std::make_unique<Direct>(*transport_, *memory);
}

Algorithm Group::choose(const Operation& operation) const {
  if (options_.chooser) {
    const std::size_t bytes = operation.count * operation.element_bytes();
    if (const auto chosen = options_.chooser(operation.collective, bytes)) return *chosen;
  }
  if (direct_) return Algorithm::direct;
  const std::size_t received =
      operation.count * operation.element_bytes() * static_cast<std::size_t>(size() - 1);
  switch (operation.collective) {
    case Collective::broadcast:
    case Collective::gather:
    case Collective::scatter: return Algorithm::binomial;
    case Collective::reduce: return Algorithm::master;
    case Collective::all_gather:
    case Collective::all_to_all: return Algorithm::exchange;
    case Collective::barrier: return Algorithm::bruck;
    case Collective::all_reduce: return received <= kMostExchanged ? Algorithm::exchange : Algorithm::sharded;
    default: return Algorithm::sharded;
  }
}

Algorithm Group::moves_as(const Operation& operation) const {
  const bool is_direct = operation.algorithm == Algorithm::direct && direct_ != nullptr;
  return is_direct && direct_->is_small(operation) ? Algorithm::exchange : operation.algorithm;
}

const Plan& Group::plan_of(const Operation& operation) {
  const auto found = std::find_if(plans_.rbegin(), plans_.rend(),
                                  [&](const auto& plan) { return is_plan_for(plan->call, operation); });
  if (found != plans_.rend()) return **found;

  Call call{operation.collective, operation.algorithm, size(), operation.count, operation.root};
  call.group_of = options_.group_of;
  call.blocks.assign(operation.blocks.begin(), operation.blocks.end());
  if (!supports(call)) {
    throw ConfigError("the algorithm {} cannot carry out {} with {} ranks", name_of(call.algorithm),
                      name_of(call.collective), call.world);
  }
  if (plans_.size() == kMostPlans) plans_.erase(plans_.begin());
  plans_.push_back(std::make_unique<Plan>(std::move(call), rank()));
  return *plans_.back();
}

void Group::run(Operation operation) {
  if (operation.algorithm == Algorithm::automatic) operation.algorithm = choose(operation);
  if (operation.algorithm == Algorithm::direct && !direct_) {
    throw ConfigError(
        "the algorithm direct needs ranks that share memory, and those of this group talk over {}",
        transport_->name());
  }
  const Plan& plan = plan_of(operation);
  const Label label = label_of(operation, options_.id, ++sequence_);
  if (size() == 1) {
    if (plan.call.collective == Collective::all_to_all && operation.data != operation.input) {
      std::copy_n(operation.input, operation.count * operation.element_bytes(), operation.data);
    }
    return;
  }
  record(label, [&] { carry_out(plan, operation, label); });
}

template <typename Body>
void Group::record(const Label& label, const Body& body) {
  recorder_.start(label);
  try {
    body();
  } catch (const NetError&) {
    leave_flight_record();
    throw;
  }
  recorder_.finish();
}

void Group::sum_and_use(Operation operation, std::size_t piece, const UseOfSum& use) {
  HOCKET_CHECK(shares_memory(), "ranks that talk over {} share no memory", transport_->name());
  operation.collective = Collective::reduce_scatter;
  operation.algorithm = Algorithm::direct;
  const Label label = label_of(operation, options_.id, ++sequence_);
  record(label, [&] { direct_->sum_and_use(operation, piece, use, label); });
}

void Group::carry_out(const Plan& plan, const Operation& operation, const Label& label) {
  if (operation.algorithm == Algorithm::direct) {
    direct_->run(plan, operation, label);
  } else {
    executor_.run(plan.schedule, operation, label);
  }
  if (operation.reduction != Reduction::mean) return;
  const Range part = summed_part(plan, rank());
  divide(operation.dtype, operation.data + part.offset * operation.element_bytes(), part.size, size());
}

// What made the operation fail is what the user hears of: a record that cannot be written is left out.
void Group::leave_flight_record() const noexcept {
  if (options_.flight_folder.empty()) return;
  try {
    const Rank me = transport_->rank_in_job(rank());
    std::ofstream file(options_.flight_folder / fmt::format("flight-rank-{}.txt", me), std::ios::app);
    file << fmt::format("rank {}: {}\n", me, transport_->health().failure().what) << recorder_.text();
  } catch (const std::exception&) {
  }
}

std::span<std::byte> Group::allocate(std::size_t bytes) {
  if (SharedMemory* memory = transport_->shared_memory()) return memory->allocate(bytes);
  memory_.push_back(std::make_unique<std::byte[]>(bytes + kAlignment));
  void* start = memory_.back().get();
  std::size_t room = bytes + kAlignment;
  return {static_cast<std::byte*>(std::align(kAlignment, bytes, start, room)), bytes};
}

std::span<std::byte> Group::allocate_common(std::size_t bytes) {
  SharedMemory& memory = *transport_->shared_memory();
  std::int64_t place = 0;
  if (rank() == 0) place = static_cast<std::int64_t>(*memory.place_of(memory.allocate(bytes).data(), bytes));
  broadcast(std::span(&place, 1), 0);
  return {memory.at(0, static_cast<std::uint64_t>(place)), bytes};
}

std::span<std::byte> Group::workspace(std::size_t bytes) {
  if (workspace_.size() < bytes) workspace_ = allocate(std::max(bytes, 2 * workspace_.size()));
  return workspace_.first(bytes);
}

Group Group::split(std::span<const Rank> members, unsigned id) {
  GroupOptions options;
  options.id = id;
  options.chooser = options_.chooser;
  options.flight_folder = options_.flight_folder;
  for (const Rank member : members) {
    if (!options_.group_of.empty())
      options.group_of.push_back(options_.group_of[static_cast<std::size_t>(member)]);
  }
  return Group(transport_->split(members, id), std::move(options));
}

}  // namespace hocket
