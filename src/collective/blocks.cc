#include "collective/blocks.h"

#include <numeric>

namespace hocket {

Blocks::Blocks(const std::vector<std::size_t>& sizes) : parts_(static_cast<int>(sizes.size())) {
  std::vector<std::size_t> starts(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), starts.begin() + 1);
  count_ = starts.back();
  starts_ = std::make_shared<const std::vector<std::size_t>>(std::move(starts));
}

std::size_t Blocks::size_around(int first, int last) const {
  const auto position = [&](int index) {
    return index <= parts_ ? start(index) : count_ + start(index - parts_);
  };
  return position(last) - position(first);
}

Blocks data_blocks(const Call& call, Rank me) {
  if (call.collective != Collective::all_to_all) return {call.count, call.world, call.blocks};
  if (call.blocks.empty()) return {call.count, call.world};
  const auto world = static_cast<std::size_t>(call.world);
  std::vector<std::size_t> column(world);
  for (std::size_t from = 0; from < world; ++from) {
    column[from] = call.blocks[from * world + static_cast<std::size_t>(me)];
  }
  return Blocks(column);
}

Blocks input_blocks(const Call& call, Rank me) {
  const auto world = static_cast<std::size_t>(call.world);
  if (call.blocks.empty()) return {world * split_evenly(call.count, call.world, me).size, call.world};
  const auto row = call.blocks.begin() + static_cast<std::ptrdiff_t>(world) * me;
  return Blocks(std::vector<std::size_t>(row, row + call.world));
}

}  // namespace hocket
