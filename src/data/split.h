#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace hocket {

// A part of another data set, which must outlive it. Immutable and thread-safe.
class SubsetDataset final : public Dataset {
 public:
  // With `is_fixed`, samples are those of epoch 0 in every epoch, as a set to measure on needs.
  SubsetDataset(const Dataset& dataset, std::string name, std::vector<std::int64_t> indices, bool is_fixed);
  const DataInfo& info() const override { return info_; }
  void gather(std::span<const std::int64_t> indices, std::int64_t epoch,
              std::span<const Tensor> out) const override;

  // The samples of the whole set that are in this part, in its order.
  const std::vector<std::int64_t>& indices() const { return indices_; }

 private:
  const Dataset& dataset_;
  DataInfo info_;
  std::vector<std::int64_t> indices_;
  bool is_fixed_;
};

// Two parts that are disjoint and together the whole.
struct Split {
  std::unique_ptr<const SubsetDataset> train;
  std::unique_ptr<const SubsetDataset> held_out;
};

// Holds out round(fraction * size) samples, at least one, chosen by `seed`. Text, whose neighbours overlap in
// meaning, is held out in one piece at the end. Throws ConfigError unless both parts have samples.
Split split_validation(const Dataset& dataset, double fraction, std::uint64_t seed);

// The fold `index` of `folds`: held out is the index-th of `folds` parts of nearly equal size, which are
// disjoint and cover the set; text is cut into pieces in order. Throws ConfigError unless 2 <= folds <= size
// and index < folds.
Split fold(const Dataset& dataset, int folds, int index, std::uint64_t seed);

}  // namespace hocket
