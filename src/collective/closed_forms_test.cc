// What schedules send, against the closed forms of docs/ALGORITHMS.md, to the byte.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "collective/algorithms/algorithms.h"
#include "collective/oracle.h"
#include "collective/traffic.h"

namespace hocket {
namespace {

// The symbols of the closed forms.
struct Symbols {
  int P;
  std::size_t N;
  Rank root;
  int k = 1;  // Segments.

  static std::size_t part(std::size_t count, int parts, int index) {
    return split_evenly(count, parts, index).size;
  }
  std::size_t s(int r) const { return part(N, P, r); }

  // Counted from the root, and a binomial tree's children and subtree there.
  int v(Rank r) const { return (r - root + P) % P; }
  int low_bit(Rank r) const { return v(r) == 0 ? 1 << ceil_log2(P) : v(r) & -v(r); }
  std::size_t children(Rank r) const {
    std::size_t count = 0;
    for (int bit = 1; bit < low_bit(r) && v(r) + bit < P; bit *= 2) ++count;
    return count;
  }
  std::size_t subtree(Rank r) const {
    std::size_t size = 0;
    for (int u = v(r); u < std::min(P, v(r) + low_bit(r)); ++u) size += s((u + root) % P);
    return size;
  }
  std::size_t below(Rank r) const { return subtree(r) - s(r); }

  // The sum of the aligned groups of 1, 2, 4, … below `parts` that hold part `index` of `parts`.
  std::size_t doublings(int parts, int first, int step, int index) const {
    std::size_t size = 0;
    for (int h = 1; h < parts; h *= 2) {
      const int begin = index / h * h * step;
      for (int i = begin; i < begin + h * step; ++i) size += part(N, first, i);
    }
    return size;
  }

  // The node of `rank` in tree t of a double tree, counted from 1; its children; whether it is the top.
  static int node(int rank, int t, int size) { return (rank - t + size) % size + 1; }
  static std::size_t tree_children(int node, int size) { return node % 2 == 1 ? 0 : node == size ? 1 : 2; }
  static bool is_top(int node, int size) { return node == 1 << floor_log2(size); }
};

using Count = std::function<std::size_t(const Symbols&, Rank)>;
using Number = std::function<int(const Symbols&)>;

// What rank r sends and receives, in elements, rounds with messages, and the largest fan-in.
struct ClosedForm {
  Count sent;
  Count received;
  Number rounds;
  Number fan_in;
};

const Number kOne = [](const Symbols&) { return 1; };
const Number kTwo = [](const Symbols&) { return 2; };
const Number kOthers = [](const Symbols& x) { return x.P - 1; };
const Number kLog = [](const Symbols& x) { return ceil_log2(x.P); };
const Number kTwoLog = [](const Symbols& x) { return 2 * ceil_log2(x.P); };
const Number kTwiceOthers = [](const Symbols& x) { return 2 * (x.P - 1); };

const Count kNothing = [](const Symbols&, Rank) { return std::size_t{0}; };
const Count kAll = [](const Symbols& x, Rank) { return x.N; };
const Count kAllTimesOthers = [](const Symbols& x, Rank) { return (x.P - 1) * x.N; };
const Count kAllButRoot = [](const Symbols& x, Rank r) { return r == x.root ? 0 : x.N; };
const Count kAllButOwn = [](const Symbols& x, Rank r) { return x.N - x.s(r); };
const Count kAllButNext = [](const Symbols& x, Rank r) { return x.N - x.s(r + 1); };
const Count kAllButPrevious = [](const Symbols& x, Rank r) { return x.N - x.s(r - 1); };
const Count kOwnToOthers = [](const Symbols& x, Rank r) { return (x.P - 1) * x.s(r); };
const Count kChildren = [](const Symbols& x, Rank r) { return x.children(r) * x.N; };
const Count kDoublings = [](const Symbols& x, Rank r) { return x.doublings(x.P, x.P, 1, r); };

Count plus(const Count& a, const Count& b) {
  return [a, b](const Symbols& x, Rank r) { return a(x, r) + b(x, r); };
}
Count at_root(const Count& root, const Count& other) {
  return [root, other](const Symbols& x, Rank r) { return r == x.root ? root(x, r) : other(x, r); };
}

std::size_t recursive_doubling(const Symbols& x, Rank r) {
  const int steps = floor_log2(x.P);
  const int folded = 2 * (x.P - (1 << steps));
  if (r < folded && r % 2 == 0) return x.N;
  return static_cast<std::size_t>(steps + (r < folded ? 1 : 0)) * x.N;
}

// The binary blocks of P: sizes, largest first.
std::vector<int> binary_blocks(int P) {
  std::vector<int> sizes;
  for (int bit = 1 << floor_log2(P); bit > 0; bit /= 2) {
    if ((P & bit) != 0) sizes.push_back(bit);
  }
  return sizes;
}

std::size_t halving_doubling(const Symbols& x, Rank r) {
  const std::vector<int> blocks = binary_blocks(x.P);
  std::size_t b = 0;
  while (r >= blocks[b]) r -= blocks[b++];
  const int chunks = blocks[0] / blocks[b];
  std::size_t own = 0;
  for (int i = r * chunks; i < (r + 1) * chunks; ++i) own += Symbols::part(x.N, blocks[0], i);
  const std::size_t merges = (b > 0 ? 1 : 0) + (b + 1 < blocks.size() ? 1 : 0);
  return x.N - own + x.doublings(blocks[b], blocks[0], chunks, r) + merges * own;
}

int halving_doubling_fan_in(const Symbols& x) {
  const std::vector<int> blocks = binary_blocks(x.P);
  int largest = 1;
  for (std::size_t b = 1; b < blocks.size(); ++b) largest = std::max(largest, blocks[b - 1] / blocks[b]);
  return largest;
}

std::size_t ring(const Symbols& x, Rank r) { return 2 * x.N - x.s(r) - x.s(r + 1); }

std::pair<int, int> grid(int P) {
  int rows = 1;
  for (int n = 2; n * n <= P; ++n) {
    if (P % n == 0) rows = n;
  }
  return {rows, P / rows};
}

std::size_t ring_2d(const Symbols& x, Rank r, int step) {
  const std::pair<int, int> rows_columns = grid(x.P);
  const int column = r % rows_columns.second;
  const int row = r / rows_columns.second;
  const std::size_t chunk = Symbols::part(x.N, rows_columns.second, column);
  const std::size_t inside = 2 * x.N - chunk - Symbols::part(x.N, rows_columns.second, column + step);
  return inside + 2 * chunk - Symbols::part(chunk, rows_columns.first, row) -
         Symbols::part(chunk, rows_columns.first, row + step);
}

std::size_t double_tree(const Symbols& x, Rank r) {
  std::size_t size = 0;
  for (const int t : {0, 1}) {
    const int node = Symbols::node(r, t, x.P);
    const std::size_t links = Symbols::tree_children(node, x.P) + (Symbols::is_top(node, x.P) ? 0 : 1);
    size += links * Symbols::part(x.N, 2, t);
  }
  return size;
}

// A rank that is not the root, in the two trees below it.
std::size_t double_tree_children(const Symbols& x, Rank r) {
  std::size_t size = 0;
  for (const int t : {0, 1}) {
    const int node = Symbols::node(x.v(r) - 1, t, x.P - 1);
    size += Symbols::tree_children(node, x.P - 1) * Symbols::part(x.N, 2, t);
  }
  return size;
}

std::size_t bruck_all_gather(const Symbols& x, Rank r) {
  std::size_t size = 0;
  for (int have = 1; have < x.P; have *= 2) {
    for (int i = 0; i < std::min(have, x.P - have); ++i) size += x.s(r + i);
  }
  return size;
}

// Blocks that have bit i of their distance to go, by the rank that they came from.
std::size_t bruck_all_to_all(const Symbols& x, Rank r) {
  std::size_t size = 0;
  for (int bit = 1; bit < x.P; bit *= 2) {
    for (int d = 0; d < x.P; ++d) size += (d & bit) != 0 ? x.s(r - d % bit) : 0;
  }
  return size;
}

std::size_t bruck_all_to_all_received(const Symbols& x, Rank r) {
  std::size_t size = 0;
  for (int bit = 1; bit < x.P; bit *= 2) {
    for (int d = 0; d < x.P; ++d) size += (d & bit) != 0 ? x.s(r - bit - d % bit) : 0;
  }
  return size;
}

using Forms = std::map<std::pair<Collective, Algorithm>, ClosedForm>;

void add_all_reduce(Forms& forms) {
  const auto add = [&](Algorithm algorithm, const ClosedForm& form) {
    forms[{Collective::all_reduce, algorithm}] = form;
  };
  const Count sharded = plus(kAllButOwn, kOwnToOthers);
  const Count master = at_root(kAllTimesOthers, kAll);
  const Count binomial = plus(kChildren, kAllButRoot);
  const Number doubling_rounds = [](const Symbols& x) {
    return floor_log2(x.P) + (is_power_of_two(x.P) ? 0 : 2);
  };
  const Number tree_rounds = [](const Symbols& x) { return 2 * floor_log2(x.P) + x.k - 1; };
  const Number grid_rounds = [](const Symbols& x) {
    return 2 * (grid(x.P).first - 1) + 2 * (grid(x.P).second - 1);
  };
  const auto lap = [](int idle) {
    return
        [idle](const Symbols& x, Rank r) { return r == x.P - 1 || r == (idle + x.P) % x.P ? x.N : 2 * x.N; };
  };
  const Count ring_received = plus(kAllButPrevious, kAllButOwn);

  add(Algorithm::direct, {sharded, sharded, kTwo, kOthers});
  add(Algorithm::master, {master, master, kTwo, kOthers});
  add(Algorithm::exchange, {kAllTimesOthers, kAllTimesOthers, kOne, kOthers});
  add(Algorithm::sharded, {sharded, sharded, kTwo, kOthers});
  add(Algorithm::binomial, {binomial, binomial, kTwoLog, kOne});
  add(Algorithm::recursive_doubling, {recursive_doubling, recursive_doubling, doubling_rounds, kOne});
  add(Algorithm::halving_doubling, {halving_doubling, halving_doubling, kTwoLog, halving_doubling_fan_in});
  add(Algorithm::naive_ring, {lap(-2), lap(0), kTwiceOthers, kOne});
  add(Algorithm::ring, {ring, ring_received, kTwiceOthers, kOne});
  add(Algorithm::segmented_ring, {ring, ring_received, kTwiceOthers, kOne});
  add(Algorithm::double_tree, {double_tree, double_tree, tree_rounds, nullptr});
  add(Algorithm::hierarchical, {ring, ring_received, kTwiceOthers, kOne});  // No groups: one group.
  add(Algorithm::ring_2d, {[](const Symbols& x, Rank r) { return ring_2d(x, r, 1); },
                           [](const Symbols& x, Rank r) { return ring_2d(x, r, -1); }, grid_rounds, kOne});
}

void add_broadcast_and_reduce(Forms& forms) {
  const auto add = [&](Algorithm algorithm, const ClosedForm& down, const Number& fan_in) {
    forms[{Collective::broadcast, algorithm}] = down;
    forms[{Collective::reduce, algorithm}] = {down.received, down.sent, down.rounds, fan_in};
  };
  const Count linear = at_root(kAllTimesOthers, kNothing);
  const Count chain = [](const Symbols& x, Rank r) { return r == (x.root + x.P - 1) % x.P ? 0 : x.N; };
  const Count trees = at_root(kAll, double_tree_children);
  const Number chain_rounds = [](const Symbols& x) { return x.P - 2 + x.k; };
  const Number tree_rounds = [](const Symbols& x) { return floor_log2(x.P - 1) + x.k; };

  add(Algorithm::master, {linear, kAllButRoot, kOne, kOne}, kOthers);
  add(Algorithm::binomial, {kChildren, kAllButRoot, kLog, kOne}, kOne);
  add(Algorithm::naive_ring, {chain, kAllButRoot, kOthers, kOne}, kOne);
  add(Algorithm::segmented_ring, {chain, kAllButRoot, chain_rounds, kOne}, kOne);
  add(Algorithm::double_tree, {trees, kAllButRoot, tree_rounds, nullptr}, nullptr);

  // The reduce's chain starts behind the root, so that all but the first receive.
  const Count chain_received = [](const Symbols& x, Rank r) { return r == (x.root + 1) % x.P ? 0 : x.N; };
  forms[{Collective::reduce, Algorithm::naive_ring}].received = chain_received;
  forms[{Collective::reduce, Algorithm::segmented_ring}].received = chain_received;

  const Count sharded = at_root(kAllButOwn, kAll);
  const Count sharded_received = plus(kOwnToOthers, at_root(kAllButOwn, kNothing));
  forms[{Collective::broadcast, Algorithm::direct}] = forms[{Collective::broadcast, Algorithm::master}];
  forms[{Collective::reduce, Algorithm::sharded}] = {sharded, sharded_received, kTwo, kOthers};
  forms[{Collective::reduce, Algorithm::direct}] = forms[{Collective::reduce, Algorithm::sharded}];
}

void add_gather_and_scatter(Forms& forms) {
  const auto add = [&](Algorithm algorithm, const ClosedForm& up, const Number& scatter_fan_in) {
    forms[{Collective::gather, algorithm}] = up;
    forms[{Collective::scatter, algorithm}] = {up.received, up.sent, up.rounds, scatter_fan_in};
  };
  const Count own = at_root(kNothing, [](const Symbols& x, Rank r) { return x.s(r); });
  const Count subtree = at_root(kNothing, [](const Symbols& x, Rank r) { return x.subtree(r); });
  const Count below = [](const Symbols& x, Rank r) { return x.below(r); };
  add(Algorithm::master, {own, at_root(kAllButOwn, kNothing), kOne, kOthers}, kOne);
  add(Algorithm::direct, {own, at_root(kAllButOwn, kNothing), kOne, kOthers}, kOne);
  add(Algorithm::binomial, {subtree, below, kLog, kOne}, kOne);
}

void add_all_gather_and_reduce_scatter(Forms& forms) {
  const ClosedForm exchange = {kOwnToOthers, kAllButOwn, kOne, kOthers};
  const ClosedForm hypercube = {kDoublings, kAllButOwn, kLog, kOne};
  for (const Algorithm algorithm : {Algorithm::direct, Algorithm::exchange, Algorithm::sharded}) {
    forms[{Collective::all_gather, algorithm}] = exchange;
    forms[{Collective::reduce_scatter, algorithm}] = {kAllButOwn, kOwnToOthers, kOne, kOthers};
  }
  forms[{Collective::all_gather, Algorithm::ring}] = {kAllButNext, kAllButOwn, kOthers, kOne};
  forms[{Collective::all_gather, Algorithm::hypercube}] = hypercube;
  forms[{Collective::all_gather, Algorithm::recursive_doubling}] = hypercube;
  forms[{Collective::all_gather, Algorithm::bruck}] = {bruck_all_gather, kAllButOwn, kLog, kOne};
  forms[{Collective::reduce_scatter, Algorithm::ring}] = {kAllButOwn, kAllButPrevious, kOthers, kOne};
  forms[{Collective::reduce_scatter, Algorithm::halving_doubling}] = {kAllButOwn, kDoublings, kLog, kOne};
}

void add_all_to_all_and_barrier(Forms& forms) {
  const ClosedForm exchange = {kOwnToOthers, kAllButOwn, kOne, kOthers};
  forms[{Collective::all_to_all, Algorithm::direct}] = exchange;
  forms[{Collective::all_to_all, Algorithm::exchange}] = exchange;
  forms[{Collective::all_to_all, Algorithm::bruck}] = {bruck_all_to_all, bruck_all_to_all_received, kLog,
                                                       kOne};
  forms[{Collective::barrier, Algorithm::direct}] = {kNothing, kNothing, kLog, kOne};
  forms[{Collective::barrier, Algorithm::bruck}] = {kNothing, kNothing, kLog, kOne};
  forms[{Collective::barrier, Algorithm::master}] = {kNothing, kNothing, kTwo, kOthers};
  forms[{Collective::barrier, Algorithm::binomial}] = {kNothing, kNothing, kTwoLog, kOne};
}

const Forms& closed_forms() {
  static const Forms forms = [] {
    Forms all;
    add_all_reduce(all);
    add_broadcast_and_reduce(all);
    add_gather_and_scatter(all);
    add_all_gather_and_reduce_scatter(all);
    add_all_to_all_and_barrier(all);
    return all;
  }();
  return forms;
}

// Segments of a call with `segment` elements each.
int segments_of(const Call& call) {
  const bool in_halves = call.algorithm == Algorithm::double_tree;
  const std::size_t count = in_halves ? (call.count + 1) / 2 : call.count;
  return static_cast<int>(std::max<std::size_t>(1, (count + call.segment - 1) / call.segment));
}

void expect_closed_form(const Call& call, const ClosedForm& form) {
  const Symbols symbols{call.world, call.count, call.root, segments_of(call)};
  const std::vector<Schedule> schedules = schedules_of(call);
  for (Rank r = 0; r < call.world; ++r) {
    const ScheduleTraffic traffic = traffic_of(schedules[static_cast<std::size_t>(r)], kElementBytes);
    ASSERT_EQ(traffic.bytes_sent, kElementBytes * form.sent(symbols, r)) << text_of(call) << ", rank " << r;
    ASSERT_EQ(traffic.bytes_received, kElementBytes * form.received(symbols, r))
        << text_of(call) << ", rank " << r;
  }
  const ScheduleTraffic total = traffic_of(schedules, kElementBytes);
  EXPECT_EQ(total.bytes_sent, total.bytes_received) << text_of(call);
  const bool leaves_out_empty = call.count < static_cast<std::size_t>(call.world);
  if (leaves_out_empty && call.collective != Collective::barrier) return;
  EXPECT_EQ(total.rounds, form.rounds(symbols)) << text_of(call);
  if (form.fan_in) {
    EXPECT_EQ(total.fan_in, form.fan_in(symbols)) << text_of(call);
  }
}

TEST(ClosedForms, AreMetToTheByte) {
  for (const Way& way : all_ways()) {
    const ClosedForm& form = closed_forms().at({way.collective, way.algorithm});
    for (const int world : {2, 3, 4, 5, 8, 16}) {
      const auto p = static_cast<std::size_t>(world);
      for (const std::size_t count : std::set<std::size_t>{0, 1, p - 1, p, p + 1, 1000, 65537}) {
        for (const Rank root : {0, world / 2, world - 1}) {
          const Call call{way.collective, way.algorithm, world, count, root, 100};
          if (supports(call)) expect_closed_form(call, form);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hocket
