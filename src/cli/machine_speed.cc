// How fast the machine computes, copies and writes: short measurements, the best of a few.
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "cli/machine.h"
#include "tensor/arena.h"
#include "tensor/kernels/isa.h"
#include "tensor/kernels/peak.h"
#include "tensor/kernels/sgemm.h"
#include "tensor/kernels/threads.h"
#include "tensor/tensor.h"
#include "train/file_system.h"

namespace hocket {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The sum of what `measure` returns on each of several threads that start together.
template <typename Measure>
double on_threads(int threads, const Measure& measure) {
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::barrier start(threads);
  {
    std::vector<std::jthread> pool;
    pool.reserve(rates.size());
    for (double& rate : rates) {
      pool.emplace_back([&] {
        start.arrive_and_wait();
        rate = measure();
      });
    }
  }
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

double copy_rate() {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  constexpr int kRounds = 4;
  const Arena from(kBytes);
  const Arena to(kBytes);
  std::memset(from.data(), 1, kBytes);
  std::memcpy(to.data(), from.data(), kBytes);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < kRounds; ++i) std::memcpy(to.data(), from.data(), kBytes);
  return 2.0 * kBytes * kRounds / seconds_since(start);
}

}  // namespace

double measure_peak_flops(int threads) { return on_threads(threads, kernel::measure_f32_peak); }

double measure_copy_bandwidth(int threads) { return on_threads(threads, copy_rate); }

// By the plain sum: Strassen's algorithm would exceed what the machine can do of it.
double measure_product_flops(int threads) {
  constexpr std::int64_t kSize = 1024;
  constexpr double kFlops = 2.0 * kSize * kSize * kSize;
  kernel::cap_dnnl_isa();
  kernel::set_num_threads(threads);
  kernel::adopt_num_threads();
  const Tensor a(DType::f32, {kSize, kSize}), b(DType::f32, {kSize, kSize}), y(DType::f32, {kSize, kSize});
  double best = 0;
  for (int i = 0; i < 6; ++i) {  // The first ones warm up.
    const Clock::time_point start = Clock::now();
    kernel::sgemm(kSize, kSize, kSize, {a.values<float>().data(), kSize}, {b.values<float>().data(), kSize},
                  y.values<float>().data(), kSize);
    best = std::max(best, kFlops / seconds_since(start));
  }
  return best;
}

Disk inspect_disk(const std::filesystem::path& folder) {
  constexpr std::size_t kBytes = std::size_t{32} << 20;
  FileSystem& files = posix_file_system();
  const std::filesystem::path probe = folder / (".hocket-doctor-" + std::to_string(::getpid()));
  const std::vector<std::byte> block(kBytes, std::byte{1});
  Disk disk;
  disk.free_bytes = static_cast<std::int64_t>(std::filesystem::space(folder).available);
  try {
    const Clock::time_point start = Clock::now();
    const std::unique_ptr<OutputFile> file = files.create(probe);
    file->write(block);
    file->sync();
    disk.write_bytes_per_second = kBytes / seconds_since(start);
  } catch (...) {
    try_remove_all(files, probe);
    throw;
  }
  try_remove_all(files, probe);
  return disk;
}

}  // namespace hocket
