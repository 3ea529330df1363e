#include "cli/machine.h"

#include <sys/timex.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <sstream>

#include "cli/arguments.h"
#include "net/world.h"

namespace hocket {
namespace {

constexpr const char* kControlGroup = "/sys/fs/cgroup";

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value of "name   : value" in one of the kernel's tables.
std::string table_entry(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(name) || colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::int64_t kilobytes(std::string_view name) {
  const std::string text = table_entry("/proc/meminfo", name);
  return parse_integer(text.substr(0, text.find(' '))).value_or(0) * 1024;
}

// "max 100000", or "150000 100000" for one and a half cores.
std::optional<double> control_group_cores() {
  std::istringstream line(first_line(std::string(kControlGroup) + "/cpu.max"));
  std::string quota;
  std::string period;
  line >> quota >> period;
  const auto allowed = parse_real(quota);
  const auto length = parse_real(period);
  return allowed && length && *length > 0 ? std::optional(*allowed / *length) : std::nullopt;
}

}  // namespace

Machine inspect_machine() {
  Machine machine;
  machine.processor = table_entry("/proc/cpuinfo", "model name");
  machine.cores = usable_cores();
  machine.cpu_limit = control_group_cores();
  machine.memory_bytes = kilobytes("MemTotal");
  machine.available_bytes = kilobytes("MemAvailable");
  machine.memory_limit_bytes = parse_integer(first_line(std::string(kControlGroup) + "/memory.max"));
  timex state{};
  machine.clock_is_synchronized = ::adjtimex(&state) != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
  timespec resolution{};
  ::clock_getres(CLOCK_MONOTONIC, &resolution);
  machine.clock_resolution_seconds =
      static_cast<double>(resolution.tv_sec) + 1e-9 * static_cast<double>(resolution.tv_nsec);
  return machine;
}

}  // namespace hocket
