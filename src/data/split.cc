#include "data/split.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/sampler.h"

namespace hocket {
namespace {

// Holds out `range` of the set in a random order, or of text in its own order; both parts ascend.
Split hold_out(const Dataset& dataset, SampleRange range, std::uint64_t seed, const std::string& what) {
  const DataInfo& info = dataset.info();
  constexpr std::uint64_t kStream = 0x73706c6974;  // Apart from the orders of epochs under the same seed.
  const SampleOrder order(info.size, seed ^ kStream, 0);
  std::vector<bool> is_held_out(static_cast<std::size_t>(info.size));
  for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
    is_held_out[static_cast<std::size_t>(info.task == Task::language ? i : order[i])] = true;
  }
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> held_out;
  for (std::int64_t i = 0; i < info.size; ++i)
    (is_held_out[static_cast<std::size_t>(i)] ? held_out : train).push_back(i);
  return {std::make_unique<SubsetDataset>(dataset, info.name, std::move(train), false),
          std::make_unique<SubsetDataset>(dataset, info.name + what, std::move(held_out), true)};
}

}  // namespace

SubsetDataset::SubsetDataset(const Dataset& dataset, std::string name, std::vector<std::int64_t> indices,
                             bool is_fixed)
    : dataset_(dataset), info_(dataset.info()), indices_(std::move(indices)), is_fixed_(is_fixed) {
  info_.name = std::move(name);
  info_.bytes = info_.size == 0 ? 0 : info_.bytes * static_cast<std::int64_t>(indices_.size()) / info_.size;
  info_.size = static_cast<std::int64_t>(indices_.size());
}

void SubsetDataset::gather(std::span<const std::int64_t> indices, std::int64_t epoch,
                           std::span<const Tensor> out) const {
  thread_local std::vector<std::int64_t> own;  // Grows once per thread, so that steps allocate nothing.
  std::vector<std::int64_t> mapped = std::move(own);  // A subset of a subset comes back here.
  mapped.clear();
  for (const std::int64_t index : indices) mapped.push_back(indices_[static_cast<std::size_t>(index)]);
  dataset_.gather(mapped, is_fixed_ ? 0 : epoch, out);
  own = std::move(mapped);
}

Split split_validation(const Dataset& dataset, double fraction, std::uint64_t seed) {
  const std::int64_t size = dataset.info().size;
  if (!(fraction > 0 && fraction < 1))
    throw ConfigError("validation: expected a fraction between 0 and 1, found {}", fraction);
  if (size < 2)
    throw ConfigError("validation: data {} has {} samples, too few to split", dataset.info().name, size);
  const auto wanted = static_cast<std::int64_t>(std::llround(fraction * static_cast<double>(size)));
  const std::int64_t count = std::clamp<std::int64_t>(wanted, 1, size - 1);
  return hold_out(dataset, {size - count, count}, seed, " (validation)");
}

Split fold(const Dataset& dataset, int folds, int index, std::uint64_t seed) {
  const std::int64_t size = dataset.info().size;
  if (folds < 2 || folds > size) {
    throw ConfigError("folds: expected 2 to {} for data {}, found {}", size, dataset.info().name, folds);
  }
  if (index < 0 || index >= folds) throw ConfigError("fold {}: expected 0 to {}", index, folds - 1);
  return hold_out(dataset, rank_share({0, size}, index, folds), seed,
                  fmt::format(" (fold {} of {})", index + 1, folds));
}

}  // namespace hocket
