#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/world.h"
#include "runtime/communicator.h"

namespace hocket {

// Another rank failed at what all did together, and tells the user why.
class FailedElsewhere final : public Error {
 public:
  using Error::Error;
};

// This process among the workers of a run: the job it has joined and the groups of its mesh, or nothing at
// all when it works alone. What all ranks do together, each of them calls in the same order; alone it costs
// nothing. Used by one thread. Throws NetError, which names the culprit.
class Team {
 public:
  Team() = default;  // Alone.
  // The ranks of the job that hocket launch, mpirun, srun or torchrun has started, all along dp; alone where
  // there is none.
  static Team join();
  // The ranks of a job, as many as the mesh has.
  Team(std::unique_ptr<World> world, const Mesh& mesh);
  // Ranks that have met by other means, such as the threads of a test.
  Team(std::unique_ptr<Transport> transport, const Mesh& mesh, bool overlap = false);

  bool is_alone() const { return groups_ == nullptr; }
  Rank rank() const { return is_alone() ? 0 : groups_->rank(); }
  int size() const { return mesh_.size(); }
  bool is_first() const { return rank() == 0; }  // The one that speaks and writes files.
  const Mesh& mesh() const { return mesh_; }
  AxisShare share(std::string_view axis) const { return mesh_.share(rank(), axis); }
  MeshGroups& groups();                                         // Not when alone.
  Communicator* communicator() { return communicator_.get(); }  // Null when alone.
  Group* along(std::string_view axis);                          // Null where the mesh has no such axis.

  // Another group along it, for another thread or another purpose, for as long as the team lives. All ranks
  // call it at the same time.
  Group& open_along(std::string_view axis);

  std::vector<int> host_of() const;     // The host of each rank, numbered from 0.
  AxisShare share_of_host() const;      // This rank among those of its host.
  int cores() const { return cores_; }  // That the ranks of this host have together.
  std::string transport() const;        // "none" when alone.
  Traffic traffic() const;              // Of all groups.

  // Where flight-rank-N.txt goes when an operation fails.
  void set_flight_folder(const std::filesystem::path& folder);

  void sum_along(std::string_view axis, std::span<double> values);
  void sum_bytes(std::span<std::byte> bytes);  // Of all ranks, each byte by itself.
  bool any(bool flag);                         // Whether it is set on any rank.
  void barrier();
  // What every rank gives, by rank.
  std::vector<std::string> gather(const std::string& own);
  std::vector<double> gather(std::span<const double> own);  // As many from each.

  // Runs `body`, which does nothing together with others. If it throws an Error on any rank, all ranks throw:
  // the lowest of them its own error, the others FailedElsewhere.
  void attempt(const std::function<void()>& body);

 private:
  void for_each_group(const std::function<void(Group&)>& body) const;

  int cores_ = usable_cores();  // Before the rank is pinned to some of them.
  Mesh mesh_;
  std::unique_ptr<World> world_;
  std::unique_ptr<MeshGroups> groups_;
  std::unique_ptr<Communicator> communicator_;
  std::vector<std::unique_ptr<Group>> opened_;
};

}  // namespace hocket
