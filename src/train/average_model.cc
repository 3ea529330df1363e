#include "train/average_model.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace hocket {
namespace {

// Calls `body` with the arenas as spans of the type that they hold.
template <typename Body>
void with_values(const Arena& a, const Arena& b, const ArenaLayout& layout, const Body& body) {
  if (layout.entries().empty()) return;
  if (layout.entries().front().type.dtype == DType::f64) {
    body(a.at<double>(0, a.size() / sizeof(double)), b.at<double>(0, b.size() / sizeof(double)));
  } else {
    body(a.at<float>(0, a.size() / sizeof(float)), b.at<float>(0, b.size() / sizeof(float)));
  }
}

Arena mean_of(const Arena& own, const ArenaLayout& layout, Group& replicas, double weight = 1) {
  Arena mean(own.size());
  if (weight == 1) {
    std::copy(own.bytes().begin(), own.bytes().end(), mean.bytes().begin());
  } else {
    with_values(own, mean, layout, [&](auto from, auto to) {
      using T = typename decltype(to)::value_type;
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(weight * from[i]);
    });
  }
  if (!layout.entries().empty()) replicas.run(mean_over(mean, layout));
  return mean;
}

}  // namespace

Operation mean_over(const Arena& arena, const ArenaLayout& layout) {
  const DType dtype = layout.entries().front().type.dtype;
  for (const ArenaLayout::Entry& entry : layout.entries())
    HOCKET_CHECK(entry.type.dtype == dtype, "{} is not {}", entry.name, name_of(dtype));
  Operation operation{Collective::all_reduce, Algorithm::automatic, Reduction::mean, dtype};
  operation.data = arena.data();
  operation.count = arena.size() / size_of(dtype);
  return operation;
}

void average_parameters(Session& session, Group& replicas, PeerCounts& counts) {
  const std::uint64_t sent = replicas.traffic().bytes_sent;
  replicas.run(mean_over(session.memory().parameters, session.program().layouts().parameters));
  ++counts.rounds;
  counts.bytes_sent += replicas.traffic().bytes_sent - sent;
}

void average_by_blocks(Session& session, Group& replicas, PeerCounts& counts) {
  const std::uint64_t sent = replicas.traffic().bytes_sent;
  Operation operation = mean_over(session.memory().parameters, session.program().layouts().parameters);
  operation.collective = Collective::reduce_scatter;
  replicas.run(operation);
  operation.collective = Collective::all_gather;
  operation.reduction = Reduction::sum;
  replicas.run(operation);
  ++counts.rounds;
  counts.bytes_sent += replicas.traffic().bytes_sent - sent;
}

AverageModel::AverageModel(Session& session, Group& replicas, What what, double weight)
    : session_(session), what_(what) {
  const StepMemory& memory = session.memory();
  const StepLayouts& layouts = session.program().layouts();
  if (what.parameters) parameters_ = mean_of(memory.parameters, layouts.parameters, replicas, weight);
  buffers_ = mean_of(memory.buffers, layouts.buffers, replicas);
  if (what.optimizer) state_ = mean_of(memory.state, layouts.state, replicas);
  swap();
}

AverageModel::~AverageModel() { swap(); }

double AverageModel::squared_distance() const {
  if (!what_.parameters) return 0;
  double sum = 0;
  with_values(parameters_, session_.memory().parameters, session_.program().layouts().parameters,
              [&](auto own, auto mean) {
                for (std::size_t i = 0; i < own.size(); ++i) {
                  const double difference = static_cast<double>(own[i]) - static_cast<double>(mean[i]);
                  sum += difference * difference;
                }
              });
  return sum;
}

void AverageModel::swap() {
  if (what_.parameters) std::swap(session_.memory().parameters, parameters_);
  std::swap(session_.memory().buffers, buffers_);
  if (what_.optimizer) std::swap(session_.memory().state, state_);
}

}  // namespace hocket
