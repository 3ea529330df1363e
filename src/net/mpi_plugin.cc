#include "net/mpi_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <thread>

#include "base/error.h"
#include "net/pause.h"

namespace hocket {

MpiPlugin::MpiPlugin(const MpiTable& table, Seconds deadline) : table_(table), deadline_(deadline) {
  try {
    check(table_.initialise(&world_));
  } catch (const MpiFailure& failure) {
    throw ConfigError("MPI ({}) does not start: {}", library(), failure.what());
  }
}

// MPI's own end waits for all ranks without a deadline, so that a barrier that has one comes first.
MpiPlugin::~MpiPlugin() {
  if (is_abandoned_ || std::uncaught_exceptions() > exceptions_before_) return;
  try {
    MpiRequest barrier = 0;
    check(table_.start_barrier(world_, &barrier));
    wait(barrier, "come to the end");
    table_.finalise(world_);
  } catch (const std::exception&) {
    return;  // Without an end of MPI mpirun ends the job and says so.
  }
}

void MpiPlugin::check(int code) const {
  if (code == 0) return;
  std::array<char, 512> text = {};
  table_.error_text(code, text.data(), text.size());
  throw MpiFailure(text.data());
}

MpiRequest MpiPlugin::start_send(Rank to, int tag, std::span<const std::byte> bytes) {
  MpiRequest request = 0;
  check(table_.start_send(world_, bytes.data(), static_cast<int>(bytes.size()), to, tag, &request));
  return request;
}

MpiRequest MpiPlugin::start_recv(Rank from, int tag, std::span<std::byte> into) {
  MpiRequest request = 0;
  check(table_.start_recv(world_, into.data(), static_cast<int>(into.size()), from, tag, &request));
  return request;
}

std::optional<std::size_t> MpiPlugin::finish(MpiRequest& request) {
  int is_done = 0;
  int bytes = 0;
  check(table_.test(world_, &request, &is_done, &bytes));
  return is_done != 0 ? std::optional(static_cast<std::size_t>(bytes)) : std::nullopt;
}

void MpiPlugin::abandon(std::shared_ptr<void> memory) {
  const std::lock_guard lock(mutex_);
  is_abandoned_ = true;
  if (memory) abandoned_memory_.push_back(std::move(memory));
}

void MpiPlugin::give_up(MpiRequest& request, bool is_recv) {
  if (request != 0) table_.give_up(world_, &request, is_recv ? 1 : 0);
}

void MpiPlugin::wait(MpiRequest request, const char* what) {
  Pause pause(true);
  while (!finish(request)) {
    if (pause.waited() > deadline_) {
      abandon();
      throw NetError("rank {}: not all ranks {} over MPI within {:.0f} s", rank(), what, deadline_.count());
    }
    const Seconds rest = pause.once();
    if (rest > Seconds(0)) std::this_thread::sleep_for(rest);
  }
}

void MpiPlugin::gather(std::span<const std::byte> mine, std::span<std::byte> all,
                       std::span<const int> counts) {
  std::vector<int> offsets;
  int end = 0;
  for (const int count : counts) {
    offsets.push_back(end);
    end += count;
  }
  MpiRequest request = 0;
  check(table_.start_all_gather(world_, mine.data(), static_cast<int>(mine.size()), all.data(), counts.data(),
                                offsets.data(), &request));
  wait(request, "exchanged what they know");
}

std::vector<std::vector<std::byte>> MpiPlugin::exchange(std::span<const std::byte> mine) try {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  const auto world = static_cast<std::size_t>(size());
  HOCKET_CHECK(mine.size() < kMost / world, "{} bytes from each of {} ranks", mine.size(), world);
  const int my_count = static_cast<int>(mine.size());
  std::vector<int> counts(world);
  gather(std::as_bytes(std::span(&my_count, 1)), std::as_writable_bytes(std::span(counts)),
         std::vector<int>(world, sizeof(int)));
  std::size_t total = 0;
  for (const int count : counts) total += static_cast<std::size_t>(count);
  std::vector<std::byte> all(total);
  gather(mine, all, counts);

  std::vector<std::vector<std::byte>> by_rank;
  auto next = all.begin();
  for (const int count : counts) {
    by_rank.emplace_back(next, next + count);
    next += count;
  }
  return by_rank;
} catch (const MpiFailure& failure) {
  throw NetError("rank {}: the exchange with all ranks over MPI failed: {}", rank(), failure.what());
}

std::vector<std::filesystem::path> mpi_library_paths(const std::filesystem::path& program,
                                                     const std::optional<std::string>& variable) {
  if (variable) return {*variable};
  const std::filesystem::path name = "libhocket_mpi.so";
  const std::filesystem::path folder = program.parent_path();
  return {folder / name, folder.parent_path() / "lib" / "hocket" / name,
          std::filesystem::path(HOCKET_PLUGIN_FOLDER) / name};
}

const MpiTable& load_mpi_library(std::span<const std::filesystem::path> paths) {
  std::string looked;
  for (const auto& path : paths) {
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", path.string());
    if (!std::filesystem::exists(path)) continue;
    // MPI's own plugins look for its symbols among the global ones. It is never unloaded.
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) throw ConfigError("cannot load the MPI library: {}", ::dlerror());
    const auto table_of = reinterpret_cast<const MpiTable* (*)()>(::dlsym(library, kMpiTableSymbol));
    if (table_of == nullptr) throw ConfigError("{} is not Hocket's MPI library", path.string());
    const MpiTable* table = table_of();
    if (table->version == kMpiTableVersion) return *table;
    throw ConfigError("{} is of version {}, this program needs version {}", path.string(), table->version,
                      kMpiTableVersion);
  }
  throw ConfigError("Hocket's MPI library is not there: looked for {}", looked);
}

std::unique_ptr<MpiPlugin> find_mpi(Rank rank, int world_size) {
  const char* variable = std::getenv("HOCKET_MPI_LIBRARY");
  const auto paths =
      mpi_library_paths(std::filesystem::read_symlink("/proc/self/exe"),
                        variable != nullptr ? std::optional<std::string>(variable) : std::nullopt);
  const bool is_there =
      std::any_of(paths.begin(), paths.end(), [](const auto& path) { return std::filesystem::exists(path); });
  if (!is_there && variable == nullptr) return nullptr;
  auto mpi = std::make_unique<MpiPlugin>(load_mpi_library(paths));
  if (mpi->size() == world_size && mpi->rank() == rank) return mpi;
  mpi->abandon();
  throw ConfigError(
      "the environment says rank {} of {}, but MPI ({}) says rank {} of {}: was this process started by the "
      "mpirun of another MPI?",
      rank, world_size, mpi->library(), mpi->rank(), mpi->size());
}

}  // namespace hocket
