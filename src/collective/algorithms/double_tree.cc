// Two binary trees (Sanders, Speck and Träff, 2009; in NCCL since 2.4), each for one half of the data, so
// chosen that no rank is an inner node of both: the upload that a leaf leaves idle in one tree serves the
// other.
//
// The first tree stands in the bits of the ranks counted from 1: odd ones are leaves, the parent of i is i
// with its lowest set bit moved one up. The second is the first with every rank moved by one. D = floor(log2
// P) is the depth of both. The data of a tree goes in k segments, one an edge and round: segment s leaves a
// node of depth d towards the root in round D - d + s, and reaches it again in round D + d - 1 + s.
//
// all_reduce: 2D + k - 1 rounds; a rank sends at most 2N, 2(P-1)N in all; fan-in 4 messages of N/2k.
// broadcast, reduce: the root stands outside of the two trees of the other ranks and feeds, or drains, both:
// D' + k rounds with D' = floor(log2(P-1)); a rank sends, and receives, at most N.

#include <array>

#include "collective/algorithms/algorithms.h"

namespace hocket {
namespace {

// A node's place in the tree of `size` nodes; nodes are counted from 0 and -1 is none.
struct TreeNode {
  int parent = -1;
  int depth = 0;
  std::array<int, 2> children = {-1, -1};
};

// All in counts from 1, as the bits want it; 0 is none.
int parent_of(int i, int size) {
  const int bit = i & -i;
  if (i == 1 << floor_log2(size)) return 0;
  const int up = (i ^ bit) | (2 * bit);
  return up <= size ? up : i ^ bit;
}

int right_child_of(int i, int size) {
  for (int bit = (i & -i) / 2; bit > 0; bit /= 2) {
    if (i + bit <= size) return i + bit;
  }
  return 0;
}

TreeNode node_of(int node, int size) {
  const int i = node + 1;
  TreeNode place;
  place.parent = parent_of(i, size) - 1;
  for (int up = parent_of(i, size); up != 0; up = parent_of(up, size)) ++place.depth;
  if (i % 2 == 0) place.children = {i - (i & -i) / 2 - 1, right_child_of(i, size) - 1};
  return place;
}

// One of the two trees, seen from one rank: what it carries, cut into segments, and its neighbours as ranks.
struct Tree {
  TreeNode node;
  Range half;
  int segments = 1;

  Range segment(int index) const {
    if (index < 0 || index >= segments) return {half.offset, 0};
    const Range within = split_evenly(half.size, segments, index);
    return {half.offset + within.offset, within.size};
  }

  // Segment `up` goes to the parent, and arrives from the children one round earlier.
  void add_up(Round& round, int up) const {
    if (node.parent >= 0) add(round, send(node.parent, segment(up)));
    for (const Rank child : node.children) {
      if (child >= 0) add(round, recv_reduce(child, segment(up + 1)));
    }
  }
  void add_down(Round& round, int down) const {
    for (const Rank child : node.children) {
      if (child >= 0) add(round, send(child, segment(down)));
    }
    if (node.parent >= 0) add(round, recv(node.parent, segment(down + 1)));
  }
};

using Trees = std::array<Tree, 2>;

// Node n of tree t is member n + t of the `size` members: the ranks from `first` on, around the world.
Trees trees_of(const Call& call, Rank me, int size, Rank first) {
  const int member = wrap(me - first, call.world);
  const std::size_t larger_half = split_evenly(call.count, 2, 0).size;
  Trees trees;
  for (int t = 0; t < 2; ++t) {
    const auto rank = [&](int node) {
      return node < 0 ? -1 : wrap(wrap(node + t, size) + first, call.world);
    };
    Tree& tree = trees[static_cast<std::size_t>(t)];
    tree.node = node_of(wrap(member - t, size), size);
    tree.node.parent = rank(tree.node.parent);
    for (int& child : tree.node.children) child = rank(child);
    tree.half = split_evenly(call.count, 2, t);
    tree.segments = segments_of(larger_half, call.segment);
  }
  return trees;
}

// Trees of all ranks but the root, which becomes the parent of both tops and their only child.
Trees trees_below_root(const Call& call, Rank me) {
  const int size = call.world - 1;
  const Rank first = wrap(call.root + 1, call.world);
  if (me != call.root) {
    Trees trees = trees_of(call, me, size, first);
    for (Tree& tree : trees) {
      if (tree.node.parent < 0) tree.node.parent = call.root;
      ++tree.node.depth;
    }
    return trees;
  }
  Trees trees = trees_of(call, first, size, first);
  for (int t = 0; t < 2; ++t) {
    const int top = (1 << floor_log2(size)) - 1;
    const Rank rank = wrap(wrap(top + t, size) + first, call.world);
    trees[static_cast<std::size_t>(t)].node = {-1, 0, {rank, -1}};
  }
  return trees;
}

}  // namespace

Schedule double_tree_all_reduce(const Call& call, Rank me) {
  const Trees trees = trees_of(call, me, call.world, 0);
  const int depth = floor_log2(call.world);
  return {2 * depth + trees[0].segments - 1, [trees, depth](int index, Round& round) {
            for (const Tree& tree : trees) {
              tree.add_up(round, index - (depth - tree.node.depth));
              tree.add_down(round, index - (depth + tree.node.depth));
            }
          }};
}

Schedule double_tree_broadcast(const Call& call, Rank me) {
  const Trees trees = trees_below_root(call, me);
  const int depth = floor_log2(call.world - 1) + 1;
  return {depth + trees[0].segments - 1, [trees](int index, Round& round) {
            for (const Tree& tree : trees) tree.add_down(round, index - tree.node.depth);
          }};
}

Schedule double_tree_reduce(const Call& call, Rank me) {
  const Trees trees = trees_below_root(call, me);
  const int depth = floor_log2(call.world - 1) + 1;
  return {depth + trees[0].segments - 1, [trees, depth](int index, Round& round) {
            for (const Tree& tree : trees) tree.add_up(round, index - (depth - tree.node.depth));
          }};
}

}  // namespace hocket
