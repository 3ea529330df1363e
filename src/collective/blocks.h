#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "collective/collective.h"
#include "collective/schedule.h"

namespace hocket {

// A vector cut into consecutive blocks, one per rank: evenly, or with sizes of their own. Even blocks take
// constant memory. Immutable; cheap to copy.
class Blocks {
 public:
  // As split_evenly(count, parts, …) cuts, from `offset` on.
  Blocks(std::size_t count, int parts, std::size_t offset = 0)
      : parts_(parts),
        offset_(offset),
        count_(count),
        small_(count / static_cast<std::size_t>(parts)),
        larger_(count % static_cast<std::size_t>(parts)) {}

  explicit Blocks(const std::vector<std::size_t>& sizes);

  // `sizes`, or where there are none an even cut.
  Blocks(std::size_t count, int parts, const std::vector<std::size_t>& sizes)
      : Blocks(sizes.empty() ? Blocks(count, parts) : Blocks(sizes)) {}

  int parts() const { return parts_; }
  std::size_t count() const { return count_; }
  Range whole() const { return {offset_, count_}; }

  // Block `index`, which is taken modulo parts() and must lie in [-parts(), 2 parts()).
  Range operator[](int index) const {
    const int i = index < 0 ? index + parts_ : index < parts_ ? index : index - parts_;
    return span(i, i + 1);
  }

  // Blocks [first, last) together, 0 <= first <= last <= parts().
  Range span(int first, int last) const {
    const std::size_t begin = start(first);
    return {begin, start(last) - begin};
  }

  // Elements of the blocks first, first + 1, … last - 1, counted on past the end: last <= 2 parts().
  std::size_t size_around(int first, int last) const;

 private:
  std::size_t start(int index) const {
    const auto i = static_cast<std::size_t>(index);
    if (starts_) return (*starts_)[i];
    return offset_ + i * small_ + std::min(i, larger_);
  }

  int parts_;
  std::size_t offset_ = 0;
  std::size_t count_ = 0;
  std::size_t small_ = 0;
  std::size_t larger_ = 0;  // The first `larger_` blocks have one element more.
  std::shared_ptr<const std::vector<std::size_t>> starts_ =
      nullptr;  // parts + 1 of them; uneven blocks only.
};

// How the `data` and the `input` of rank `me` are cut. `data`: by the rank that a block belongs to
// (all_to_all: comes from). `input`, of all_to_all only: by the rank that a block goes to; without
// Call::blocks all of them are as large as block `me` of the others' data.
Blocks data_blocks(const Call& call, Rank me);
Blocks input_blocks(const Call& call, Rank me);

}  // namespace hocket
