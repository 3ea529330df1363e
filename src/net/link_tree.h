#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "net/clock.h"
#include "net/rank.h"

namespace hocket {

// What a message pays on one edge of the tree, from a node up to its parent, in either direction. Plain
// numbers: this is where a model of links crosses from those who know racks to those who only know ranks.
struct LinkEdge {
  double alpha = 0;  // Seconds a message.
  double beta = 0;   // Seconds a byte, for one message alone.
  double shared_beta =
      0;  // Seconds a byte of what all ranks below share; 0: they do not get in each other's way.
};

// One level of the tree: the node that each rank is below of, and each node's edge upwards.
struct LinkLevel {
  std::vector<int> node_of;     // By rank.
  std::vector<LinkEdge> edges;  // By node.
};

// The model of links that both the simulator and the emulation follow. Ranks are leaves of a tree; a message
// passes queues: the sender's egress, each shared edge in its direction, the receiver's ingress. So a rank
// sends one message and receives one at a time, full duplex. Egress and ingress take alpha + beta * bytes for
// a message, with the sum of the alphas and the largest beta on its path; a shared edge takes shared_beta *
// bytes. A message joins egress and shared edges when it is sent, first come first served, and the ingress
// when its receive has been posted as well: what a rank does not ask for yet keeps nothing from it. It has
// been sent when the egress is done with it, carried when the shared edges are too (alpha later), and
// delivered when also the ingress is. Immutable; thread-safe.
class LinkTree {
 public:
  static constexpr int kMaxLevels = 4;

  struct Route {
    double alpha;
    double beta;
    int levels;  // Edges from each end up to the lowest common ancestor.

    double seconds(std::size_t bytes) const { return alpha + beta * static_cast<double>(bytes); }
  };

  // A queue as a number: egress of rank r is r, ingress world + r, shared edges follow, up before down.
  struct Queue {
    int level = 0;
    int node = 0;
    bool is_up = true;
    double beta = 0;
  };

  explicit LinkTree(
      const std::vector<LinkLevel>& levels);  // The leaves first; theirs are the ranks' own edges.

  // Ranks behind links of their own and, where there are several racks, uplinks that a rack's ranks share.
  static LinkTree of_racks(std::vector<LinkEdge> ranks, std::vector<int> rack_of,
                           std::vector<LinkEdge> uplinks);

  int world() const { return static_cast<int>(places_.size()); }
  int levels() const { return levels_; }
  bool has_shared_edges() const { return !shared_.empty(); }
  int queues() const { return 2 * world() + static_cast<int>(shared_.size()); }
  Queue queue(int index) const;  // What that queue is.
  int egress(Rank rank) const { return rank; }
  int ingress(Rank rank) const { return world() + rank; }

  Route route(Rank a, Rank b) const {
    const Place& from = places_[static_cast<std::size_t>(a)];
    const Place& to = places_[static_cast<std::size_t>(b)];
    int top = levels_ - 1;
    while (top > 0 && from.node[top] == to.node[top]) --top;
    return {from.alpha[top] + to.alpha[top], std::max(from.beta[top], to.beta[top]), top + 1};
  }

  // Sends a message of `bytes` along `route`: occupy(queue, seconds) lets a queue carry it and returns when
  // that is done. Returns when the message has been carried.
  template <typename Occupy>
  double carry(const Route& route, Rank from, Rank to, std::size_t bytes, Occupy&& occupy) const {
    double carried = occupy(egress(from), route.seconds(bytes));
    if (shared_.empty()) return carried;
    for (int level = 1; level < route.levels; ++level) {
      for (const bool is_up : {true, false}) {
        const int shared = places_[static_cast<std::size_t>(is_up ? from : to)].shared[level];
        if (shared < 0) continue;
        const std::size_t index = static_cast<std::size_t>(shared) + (is_up ? 0 : 1);
        const double seconds = shared_[index].beta * static_cast<double>(bytes);
        carried = std::max(carried, occupy(2 * world() + static_cast<int>(index), seconds) + route.alpha);
      }
    }
    return carried;
  }

 private:
  struct Place {  // A rank's: its node at each level, and what the way from it up through that level's edge
                  // costs.
    std::array<int, kMaxLevels> node;
    std::array<int, kMaxLevels> shared;  // Index into shared_ of the node's edge upwards, or -1.
    std::array<double, kMaxLevels> alpha;
    std::array<double, kMaxLevels> beta;
  };

  int levels_;
  std::vector<Place> places_;
  std::vector<Queue> shared_;  // By twos: up, down.
};

}  // namespace hocket
