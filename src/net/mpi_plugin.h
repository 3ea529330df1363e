#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "net/clock.h"
#include "net/mpi_table.h"
#include "net/rank.h"

namespace hocket {

// What MPI itself says of a transfer that failed.
class MpiFailure final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// MPI, initialised, as the functions of a table do it. One a process, and it outlives every transport over
// it. Destroying it waits for all ranks to do so; not after abandon() nor while an exception unwinds, for
// then a rank may be missing. Thread-safe.
class MpiPlugin {
 public:
  // Throws ConfigError when MPI does not start. `deadline` is that of exchange() and of the end.
  explicit MpiPlugin(const MpiTable& table, Seconds deadline = Seconds(300));
  ~MpiPlugin();
  MpiPlugin(const MpiPlugin&) = delete;
  MpiPlugin& operator=(const MpiPlugin&) = delete;

  Rank rank() const { return table_.rank(world_); }
  int size() const { return table_.size(world_); }
  int largest_tag() const { return table_.largest_tag(world_); }
  std::string library() const { return table_.library(); }  // As in "Open MPI v4.1.4".

  // Every rank's bytes, by rank; an Exchange. Called by all ranks the same number of times. Throws NetError.
  std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine);

  // Throw MpiFailure.
  MpiRequest start_send(Rank to, int tag, std::span<const std::byte> bytes);
  MpiRequest start_recv(Rank from, int tag, std::span<std::byte> into);
  std::optional<std::size_t> finish(MpiRequest& request);  // The bytes received, once it is done.

  // The ranks have failed: from here on nothing waits for all of them. `memory` is what transfers that nobody
  // will finish may still use.
  void abandon(std::shared_ptr<void> memory = nullptr);
  void give_up(MpiRequest& request, bool is_recv);

 private:
  void check(int code) const;
  void wait(MpiRequest request, const char* what);
  void gather(std::span<const std::byte> mine, std::span<std::byte> all, std::span<const int> counts);

  const MpiTable& table_;
  const Seconds deadline_;
  const int exceptions_before_ = std::uncaught_exceptions();
  MpiWorld* world_ = nullptr;
  std::mutex mutex_;
  bool is_abandoned_ = false;
  std::vector<std::shared_ptr<void>> abandoned_memory_;
};

// Where the library may lie: where `variable` (HOCKET_MPI_LIBRARY) says, or else beside `program`, in
// ../lib/hocket from there, and where it is installed.
std::vector<std::filesystem::path> mpi_library_paths(const std::filesystem::path& program,
                                                     const std::optional<std::string>& variable);

// Loads the first library that is there. Throws ConfigError, which says where it looked and what is wrong.
const MpiTable& load_mpi_library(std::span<const std::filesystem::path> paths);

// Loads the library from where it belongs and starts MPI, which must see `world_size` ranks and call this one
// `rank`; nullptr where there is none. Throws ConfigError.
std::unique_ptr<MpiPlugin> find_mpi(Rank rank, int world_size);

}  // namespace hocket
