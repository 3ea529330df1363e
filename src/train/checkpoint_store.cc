// A checkpoint is written under a temporary name, by each rank its own files, every file synced. The first
// rank adds the manifest once all have said that theirs are durable, and the folder gets its own name only by
// the last rename; the folder above is synced before anything older goes. So at every moment, also after a
// power cut, each name step-NNNNNNNN is a whole checkpoint; damage that comes later is found by the checksums
// in its manifest.

#include "train/checkpoint_store.h"

#include <algorithm>

#include "base/error.h"
#include "train/agreement.h"
#include "train/checkpoint_writer.h"
#include "train/team.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kTemporaryPrefix = ".tmp-";

std::optional<std::int64_t> find_step(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  constexpr std::size_t kMostDigits = 18;
  if (name.empty() || name.size() > kMostDigits) return std::nullopt;
  std::int64_t step = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return std::nullopt;
    step = step * 10 + (c - '0');
  }
  return step;
}

std::string first_not_empty(const std::vector<std::string>& texts) {
  const auto at = std::find_if(texts.begin(), texts.end(), [](const auto& text) { return !text.empty(); });
  return at == texts.end() ? "" : *at;
}

// One manifest of what all ranks have written.
Manifest merged(const std::vector<std::string>& manifests) {
  Manifest all;
  for (std::size_t rank = 0; rank < manifests.size(); ++rank) {
    const Manifest own =
        parse_manifest(std::as_bytes(std::span(manifests[rank])), fmt::format("what rank {} wrote", rank));
    if (rank == 0) all.checkpoint = own.checkpoint;
    all.files.insert(all.files.end(), own.files.begin(), own.files.end());
    all.parts.insert(all.parts.end(), own.parts.begin(), own.parts.end());
  }
  return all;
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, Team& team, CheckpointOptions options, FileSystem& files)
    : folder_(std::move(folder)), team_(team), options_(std::move(options)), files_(files) {
  if (options_.keep < 2) throw ConfigError("at least 2 checkpoints must be kept, not {}", options_.keep);
}

std::vector<fs::path> CheckpointStore::list() const {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (std::string& name : files_.list(folder_)) {
    if (const auto step = find_step(name)) found.emplace_back(*step, std::move(name));
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  paths.reserve(found.size());
  for (const auto& [step, name] : found) paths.push_back(folder_ / name);
  return paths;
}

std::optional<CheckpointReader> CheckpointStore::open_newest() {
  std::vector<fs::path> paths;
  team_.attempt([&] { paths = list(); });
  std::string names;
  for (const fs::path& path : paths) names += path.filename().string() + ' ';
  require_agreement(team_, {{fmt::format("in {} the checkpoints", folder_.string()), names}});

  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    std::optional<CheckpointReader> reader;
    std::string problem;
    try {
      reader.emplace(*path, files_);
      reader->verify({team_.rank(), team_.size()});
    } catch (const Error& error) {
      problem = error.what();
    }
    problem = first_not_empty(team_.gather(problem));
    if (problem.empty()) return reader;
    torn_.insert(*path);
    warn(fmt::format("checkpoint {} is skipped: {}", path->string(), problem));
  }
  return std::nullopt;
}

void CheckpointStore::save(const Checkpoint& checkpoint) {
  const std::string name = fmt::format("{}{:08}", kPrefix, checkpoint.step);
  const fs::path target = folder_ / name;
  const fs::path temporary = folder_ / fmt::format("{}{}", kTemporaryPrefix, name);
  const auto attempt = [&](const std::function<void()>& body) {
    team_.attempt([&] {
      try {
        body();
      } catch (const Error& error) {
        throw Error("checkpoint {} is not saved: {}; earlier ones are untouched", target.string(),
                    error.what());
      }
    });
  };
  const auto attempt_first = [&](const std::function<void()>& body) {
    attempt([&] {
      if (team_.is_first()) body();
    });
  };
  try {
    attempt_first([&] {
      files_.create_directories(folder_);
      remove_temporaries();
      files_.create_directories(temporary);
    });
    std::string own;
    attempt([&] {
      require_visible(temporary);
      own = render_manifest(write_parts(checkpoint, temporary, team_.rank(), team_.size(), files_));
    });
    const std::vector<std::string> all = team_.gather(own);
    attempt_first([&] {
      write_manifest(merged(all), temporary, files_);
      files_.sync_directory(temporary);
      put_in_place(temporary, target);
    });
  } catch (...) {
    if (team_.is_first()) try_remove_all(files_, temporary);
    throw;
  }
  attempt_first([&] { files_.sync_directory(folder_); });
  torn_.erase(target);
  if (team_.is_first()) remove_old(target);
}

void CheckpointStore::require_visible(const fs::path& temporary) const {
  if (team_.is_first()) return;
  const std::vector<std::string> names = files_.list(folder_);
  if (std::find(names.begin(), names.end(), temporary.filename().string()) != names.end()) return;
  throw Error("rank {} does not see {}: all ranks need the same run folder", team_.rank(),
              temporary.string());
}

void CheckpointStore::put_in_place(const fs::path& temporary, const fs::path& target) const {
  const std::vector<fs::path> present = list();
  const bool replaces = std::find(present.begin(), present.end(), target) != present.end();
  replaces ? files_.exchange(temporary, target) : files_.rename(temporary, target);
}

void CheckpointStore::remove_temporaries() const {
  for (const std::string& name : files_.list(folder_)) {
    if (name.starts_with(kTemporaryPrefix)) files_.remove_all(folder_ / name);
  }
}

// The new checkpoint is durable, so from here on nothing can make the save fail. Each one gets a temporary
// name first: a removal that stops half-way leaves no torn checkpoint behind.
void CheckpointStore::remove_old(const fs::path& newest) {
  try {
    std::vector<fs::path> whole;
    std::vector<fs::path> unwanted;
    for (fs::path& path : list()) (torn_.contains(path) ? unwanted : whole).push_back(std::move(path));
    const std::size_t surplus =
        whole.size() - std::min(whole.size(), static_cast<std::size_t>(options_.keep));
    std::copy_if(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(surplus),
                 std::back_inserter(unwanted), [&](const fs::path& path) { return path != newest; });
    for (const fs::path& path : unwanted) {
      files_.rename(path, folder_ / fmt::format("{}{}", kTemporaryPrefix, path.filename().string()));
      torn_.erase(path);
    }
    remove_temporaries();
  } catch (const Error& error) {
    warn(fmt::format("an old checkpoint stays: {}", error.what()));
  }
}

void CheckpointStore::warn(const std::string& line) const {
  if (options_.warn) options_.warn(line);
}

}  // namespace hocket
