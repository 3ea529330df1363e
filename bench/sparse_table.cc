// What a table that grows without stopping costs: memory beside its prediction while ids of width 1 with
// AdaGrad appear, processor time a new row, a row read and a row updated.
//
//   bench_sparse_table [MILLIONS]
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "base/rng.h"
#include "ps/table_store.h"

namespace hocket {
namespace {

constexpr std::size_t kBatch = 10'000;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double resident_bytes() {
  std::size_t total = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%zu %zu", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

Init table() {
  Init init;
  init.spec.optimizer.rule = "adagrad";
  init.spec.width = 1;
  return init;
}

class Growth {
 public:
  void add_rows(std::size_t count) {
    for (std::size_t i = 0; i < count; i += kBatch) push([&](std::size_t) { return mix_bits(rows_++); });
  }

  // Nanoseconds a row, the best of many batches of rows that are there.
  double read_time() {
    return best([&](const Payload& ids) { store_->read(ids); });
  }
  double update_time() {
    return best([&](const Payload& ids) { apply(ids); });
  }

  void report(double began, std::size_t step) {
    const double found = resident_bytes() - before_;
    const auto predicted = static_cast<double>(predicted_table_bytes(table().spec, rows_));
    const auto rows = static_cast<double>(rows_);
    widest_ = std::max(widest_, std::abs(found / predicted - 1));
    peak_ = std::max(peak_, found);
    fmt::print("{:6.0f} M {:8.1f} {:10.1f} {:10.0f}\n", 1e-6 * rows, found / rows, predicted / rows,
               1e9 * (cpu_seconds() - began) / static_cast<double>(step));
  }
  double widest() const { return widest_; }
  double peak() const { return peak_; }

 private:
  template <typename NextId>
  Payload ids_of(const NextId& next_id) {
    for (std::size_t i = 0; i < kBatch; ++i) ids_[i] = next_id(i);
    return {std::as_bytes(std::span(ids_)), nullptr};
  }
  template <typename NextId>
  void push(const NextId& next_id) {
    apply(ids_of(next_id));
  }
  void apply(const Payload& ids) {
    Push push;
    push.ids = ids;
    push.values.bytes = std::as_bytes(std::span(gradient_));
    const WeightedPush term{&push, 1};
    store_->apply(std::span(&term, 1), {0.1, 1, 1, 1});
  }
  template <typename Body>
  double best(const Body& body) {
    double least = 1e9;
    for (int run = 0; run < 300; ++run) {
      const Payload ids = ids_of([&](std::size_t) { return mix_bits(rng_.below(rows_)); });
      const double began = cpu_seconds();
      body(ids);
      least = std::min(least, cpu_seconds() - began);
    }
    return 1e9 * least / kBatch;
  }

  std::unique_ptr<Store> store_ = make_store(table());
  std::vector<std::uint64_t> ids_ = std::vector<std::uint64_t>(kBatch);
  std::vector<float> gradient_ = std::vector<float>(kBatch, 0.5F);
  Rng rng_{1};
  std::uint64_t rows_ = 0;
  double before_ = resident_bytes();
  double widest_ = 0, peak_ = 0;
};

void measure(std::size_t rows) {
  Growth growth;
  const std::size_t step = std::max(kBatch, rows / 20 / kBatch * kBatch);
  fmt::print("{:>8} {:>8} {:>10} {:>10}\n", "rows", "B a row", "predicted", "ns a row");
  for (std::size_t made = 0; made < rows; made += step) {
    const double began = cpu_seconds();
    growth.add_rows(step);
    growth.report(began, step);
  }
  fmt::print(
      "peak {:.2f} GB, at most {:.1f} % from the prediction; {:.0f} ns a row read, {:.0f} ns updated\n",
      1e-9 * growth.peak(), 100 * growth.widest(), growth.read_time(), growth.update_time());
}

}  // namespace
}  // namespace hocket

int main(int count, char** words) {
  const long millions = count > 1 ? std::strtol(words[1], nullptr, 10) : 10;
  hocket::measure(static_cast<std::size_t>(std::clamp(millions, 1L, 1000L)) * 1'000'000);
}
