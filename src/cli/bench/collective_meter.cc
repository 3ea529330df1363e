#include "cli/bench/collective_meter.h"

#include <algorithm>

#include "base/error.h"

namespace hocket {
namespace {

std::size_t elements_of(const CollectiveTask& task, const CollectiveCase& measured) {
  return measured.collective == Collective::barrier ? 0 : measured.bytes / size_of(task.dtype);
}

std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

bool can_run(const CollectiveTask& task, const CollectiveCase& measured) {
  if (measured.algorithm == Algorithm::automatic) return true;
  const bool shares_memory =
      !task.emulation && (task.transport == TransportKind::shm || task.transport == TransportKind::inproc);
  if (measured.algorithm == Algorithm::direct && !shares_memory) return false;
  Call call{measured.collective, measured.algorithm, task.ranks, elements_of(task, measured)};
  if (task.emulation) call.group_of = task.emulation->topology().groups();
  return supports(call);
}

CollectiveMeter::CollectiveMeter(Group& group, const CollectiveTask& task) : group_(group), task_(task) {
  std::size_t most = 0;
  for (const CollectiveCase& each : task.cases) most = std::max(most, each.bytes);
  // Blocks of all_to_all's input are as large as the largest of its data.
  const std::size_t room = round_up(most + static_cast<std::size_t>(group.size()) * size_of(task.dtype));
  if (task.is_private) {
    private_memory_.resize(2 * room);
    data_ = std::span(private_memory_).first(room);
    input_ = std::span(private_memory_).last(room);
  } else {
    data_ = group.allocate(room);
    input_ = group.allocate(room);
  }
}

Operation CollectiveMeter::operation_of(const CollectiveCase& measured) const {
  Operation operation;
  operation.collective = measured.collective;
  operation.algorithm = measured.algorithm;
  operation.dtype = task_.dtype;
  operation.count = elements_of(task_, measured);
  operation.data = data_.data();
  operation.input = input_.data();
  if (measured.algorithm == Algorithm::automatic) operation.algorithm = group_.choose(operation);
  return operation;
}

// Bytes as the transport counts them, rounds as the schedule has them.
CollectiveCounts CollectiveMeter::count(const Operation& operation) {
  const std::uint64_t before = group_.traffic().bytes_sent;
  group_.run(operation);
  const auto sent = static_cast<std::int64_t>(group_.traffic().bytes_sent - before);
  std::int64_t most = sent;
  std::int64_t all = sent;
  group_.all_reduce(std::span<std::int64_t>(&most, 1), Reduction::max);
  group_.all_reduce(std::span<std::int64_t>(&all, 1), Reduction::sum);

  Call call{operation.collective, group_.moves_as(operation), group_.size(), operation.count};
  if (task_.emulation) call.group_of = task_.emulation->topology().groups();
  CollectiveCounts counts = schedule_counts(call);
  counts.bytes_per_rank = most;
  counts.total_bytes = all;
  return counts;
}

double CollectiveMeter::agree(double number) {
  double word = group_.rank() == 0 ? number : 0;
  group_.all_reduce(std::span<double>(&word, 1));
  return word;
}

CollectiveFigures CollectiveMeter::measure(const CollectiveCase& measured) {
  const Operation operation = operation_of(measured);
  CollectiveFigures figures;
  figures.collective = name_of(measured.collective);
  figures.algorithm = name_of(operation.algorithm);
  figures.bytes = measured.bytes;
  figures.counts = count(operation);
  std::vector<double> seconds = timed_loop(
      task_.budget, [&] { group_.run(operation); }, [&](double number) { return agree(number); });
  for (double& sample : seconds) sample *= 1e6;
  figures.us = spread_of(std::move(seconds));
  return figures;
}

}  // namespace hocket
