#include "train/node_spans.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "base/error.h"
#include "train/file_system.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSpans = std::size_t{1} << 14;  // Of each node.
constexpr auto kPatience = std::chrono::seconds(2);
constexpr auto kLook = std::chrono::milliseconds(10);

fs::path folder_of(const fs::path& run_folder) { return run_folder / "spans"; }
fs::path file_of(const fs::path& run_folder, int worker) {
  return folder_of(run_folder) / fmt::format("worker-{}", worker);
}

std::optional<std::string> read_text(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

void begin_node_spans(const fs::path& run_folder, Timeline::Time origin) {
  fs::create_directories(folder_of(run_folder));
  write_file_atomically(posix_file_system(), folder_of(run_folder) / "origin",
                        std::to_string(origin.time_since_epoch().count()));
}

// A worker without a place for its spans has done its work all the same.
void leave_node_spans(const fs::path& run_folder, int worker, const Timeline& timeline) {
  const std::optional<std::string> origin = read_text(folder_of(run_folder) / "origin");
  if (!origin) return;
  const Timeline::Time zero(Timeline::Time::duration(std::strtoll(origin->c_str(), nullptr, 10)));
  try {
    write_file_atomically(posix_file_system(), file_of(run_folder, worker),
                          timeline.events(worker, zero, kMostSpans).json);
  } catch (const Error&) {
  }
}

std::string collect_node_spans(const fs::path& run_folder, int workers, const Timeline& recorder) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  TraceEvents all = recorder.events(workers, recorder.origin(), kMostSpans);
  for (int worker = 0; worker < workers; ++worker) {
    std::optional<std::string> spans = read_text(file_of(run_folder, worker));
    while (!spans && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kLook);
      spans = read_text(file_of(run_folder, worker));
    }
    all.json += spans.value_or("");
  }
  std::error_code ignored;
  fs::remove_all(folder_of(run_folder), ignored);
  return chrome_trace(all);
}

}  // namespace hocket
