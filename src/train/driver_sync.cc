#include "train/driver_sync.h"

#include <algorithm>

#include "base/error.h"
#include "train/average_model.h"

namespace hocket {
namespace {

constexpr Rank kDriver = 0;

template <typename T>
void multiply(const Arena& arena, double factor) {
  for (T& value : arena.at<T>(0, arena.size() / sizeof(T))) value = static_cast<T>(value * factor);
}

}  // namespace

DriverSync::DriverSync(Session& session, Group& all, const std::string& sync) : session_(session), all_(all) {
  if (!session.program().layouts().buffers.entries().empty())
    throw ConfigError("--sync {}: the driver computes no running statistics, which this model has", sync);
  counts_.periods.push_back({1, 1});
}

bool DriverSync::after_update(const PeerStep&) {
  const Traffic before = all_.traffic();
  const Arena& parameters = session_.memory().parameters;
  Operation operation = mean_over(parameters, session_.program().layouts().parameters);
  operation.collective = Collective::reduce;
  operation.algorithm = Algorithm::master;
  operation.reduction = Reduction::sum;
  operation.root = kDriver;
  const bool is_driver = all_.rank() == kDriver;
  if (is_driver) std::ranges::fill(parameters.bytes(), std::byte{0});
  all_.run(operation);
  if (is_driver) scale();
  operation.collective = Collective::broadcast;
  all_.run(operation);
  const Traffic& after = all_.traffic();
  ++counts_.rounds;
  counts_.bytes_sent += after.bytes_sent - before.bytes_sent;
  if (is_driver)
    counts_.driver_bytes +=
        after.bytes_sent - before.bytes_sent + after.bytes_received - before.bytes_received;
  return true;
}

void DriverSync::scale() {
  const double share = 1.0 / (all_.size() - 1);
  const Arena& parameters = session_.memory().parameters;
  const bool is_f64 = session_.program().layouts().parameters.entries().front().type.dtype == DType::f64;
  is_f64 ? multiply<double>(parameters, share) : multiply<float>(parameters, share);
}

}  // namespace hocket
