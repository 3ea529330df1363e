// Inside the groups (hosts, racks), then across, then inside: the least possible crosses between groups.
//
// With R groups, the smallest of m ranks, the data is cut into m chunks; chunk j belongs to the j-th rank of
// every group. A ring inside each group sums the chunks, a ring of the R owners of a chunk sums it across the
// groups, a ring inside each group hands the sums round. A group sends 2N(R-1)/R across, 2(R-1)N all groups
// together; 2(P-1)N in all. 2(g-1) + 2(R-1) rounds, g the largest group; fan-in 1.
//
// ring_2d is the same on a grid as square as P allows, a row being a group: a prime P is one row, a ring.

#include <algorithm>

#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/ring.h"

namespace hocket {
namespace {

// `size` chunks of which the first `owners` hold all, evenly.
Blocks chunks_of(std::size_t count, int size, int owners) {
  if (size == owners) return {count, size};
  std::vector<std::size_t> sizes(static_cast<std::size_t>(size), 0);
  for (int i = 0; i < owners; ++i) sizes[static_cast<std::size_t>(i)] = split_evenly(count, owners, i).size;
  return Blocks(sizes);
}

// Rounds of the ring inside a group, one way, and of the ring across: the same for all ranks.
struct Rounds {
  int inside;
  int across;
};

Schedule two_level(const PlaceInRing& inner, const Blocks& chunks, const PlaceInRing& outer, bool is_owner,
                   Rounds rounds) {
  const Range own = chunks[inner.me];
  const Schedule scatter = ring_reduce_scatter(inner, chunks);
  const Schedule across =
      is_owner ? ring_all_reduce(outer, Blocks(own.size, outer.size, own.offset)) : Schedule();
  const Schedule gather = ring_all_gather(inner, chunks);
  return {2 * rounds.inside + rounds.across, [=](int index, Round& round) {
            const int second = index - rounds.inside;
            const int third = second - rounds.across;
            const Schedule& phase = second < 0 ? scatter : third < 0 ? across : gather;
            const int within = second < 0 ? index : third < 0 ? second : third;
            if (within < phase.rounds()) phase.round(within, round);
          }};
}

// The ranks' groups: their sizes by number, which may leave some out.
class Groups {
 public:
  explicit Groups(const std::vector<Rank>& group_of) : group_of_(group_of), sizes_(group_of.size(), 0) {
    for (const Rank group : group_of) ++sizes_[static_cast<std::size_t>(group)];
    for (const int size : sizes_) {
      if (size == 0) continue;
      ++count_;
      largest_ = std::max(largest_, size);
      smallest_ = smallest_ == 0 ? size : std::min(smallest_, size);
    }
  }

  int count() const { return count_; }
  int smallest() const { return smallest_; }
  int largest() const { return largest_; }

  // The ring of the group of `me`.
  PlaceInRing inner(Rank me) const {
    const int group = of(me);
    const int size = sizes_[static_cast<std::size_t>(group)];
    const int place = place_in_group(me);
    return {size, place, member(group, wrap(place - 1, size)), member(group, wrap(place + 1, size))};
  }

  // The ring of those that have the place of `me` in their groups, which must be below smallest().
  PlaceInRing outer(Rank me) const {
    const int group = of(me);
    const int place = place_in_group(me);
    int index = 0;
    for (int g = 0; g < group; ++g) index += sizes_[static_cast<std::size_t>(g)] > 0 ? 1 : 0;
    return {count_, index, member(neighbour(group, -1), place), member(neighbour(group, 1), place)};
  }

 private:
  int of(Rank rank) const { return group_of_[static_cast<std::size_t>(rank)]; }

  int place_in_group(Rank me) const {
    return static_cast<int>(std::count(group_of_.begin(), group_of_.begin() + me, of(me)));
  }

  Rank member(int group, int place) const {
    Rank rank = 0;
    while (of(rank) != group || place-- > 0) ++rank;
    return rank;
  }

  // The next group that has ranks, in the direction of `step`, around.
  int neighbour(int group, int step) const {
    const int numbers = static_cast<int>(sizes_.size());
    do group = wrap(group + step, numbers);
    while (sizes_[static_cast<std::size_t>(group)] == 0);
    return group;
  }

  const std::vector<Rank>& group_of_;
  std::vector<int> sizes_;
  int count_ = 0;
  int largest_ = 0;
  int smallest_ = 0;
};

}  // namespace

Schedule hierarchical_all_reduce(const Call& call, Rank me) {
  if (call.group_of.empty()) return ring_all_reduce(call, me);
  const Groups groups(call.group_of);
  const PlaceInRing inner = groups.inner(me);
  const bool is_owner = inner.me < groups.smallest();
  const PlaceInRing outer = is_owner ? groups.outer(me) : PlaceInRing{};
  return two_level(inner, chunks_of(call.count, inner.size, groups.smallest()), outer, is_owner,
                   {groups.largest() - 1, 2 * (groups.count() - 1)});
}

Schedule ring_2d_all_reduce(const Call& call, Rank me) {
  int rows = 1;
  for (int n = 2; n * n <= call.world; ++n) {
    if (call.world % n == 0) rows = n;
  }
  const int columns = call.world / rows;
  const int row = me / columns;
  const int column = me % columns;
  const auto rank = [&](int r, int c) { return wrap(r, rows) * columns + wrap(c, columns); };
  const PlaceInRing inner = {columns, column, rank(row, column - 1), rank(row, column + 1)};
  const PlaceInRing outer = {rows, row, rank(row - 1, column), rank(row + 1, column)};
  return two_level(inner, Blocks(call.count, columns), outer, true, {columns - 1, 2 * (rows - 1)});
}

}  // namespace hocket
