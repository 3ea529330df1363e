#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

// What `hocket doctor` finds out about the machine it runs on.
namespace hocket {

struct Machine {
  std::string processor;              // As the kernel names it.
  int cores = 1;                      // That this process may run on.
  std::optional<double> cpu_limit{};  // Cores' worth of time that the control group allows.
  std::int64_t memory_bytes = 0;
  std::int64_t available_bytes = 0;
  std::optional<std::int64_t> memory_limit_bytes{};  // Of the control group.
  bool clock_is_synchronized = false;
  double clock_resolution_seconds = 0;
};

// Asks the kernel; what it does not tell stays as it is above.
Machine inspect_machine();

struct Disk {
  std::int64_t free_bytes = 0;
  double write_bytes_per_second = 0;  // To a file that is synced and then removed.
};

// Throws Error when nothing can be written to `folder`.
Disk inspect_disk(const std::filesystem::path& folder);

// Rates with `threads` threads at once; each takes a fraction of a second.
double measure_peak_flops(int threads);      // Of f32 multiply-adds in registers.
double measure_product_flops(int threads);   // Of an f32 matrix product, 1024 each way.
double measure_copy_bandwidth(int threads);  // Bytes read plus bytes written, a second.

}  // namespace hocket
