// How many non-zeros a second one core trains on when the table of weights is its own: logistic regression on
// made-up sparse rows, a step at a time through the compiled graph, with and without copying the batch.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "data/loader.h"
#include "tensor/kernels/threads.h"
#include "train/session.h"

namespace hocket {
namespace {

constexpr std::int64_t kSamples = 200'000, kFeatures = 1'000'000, kNonzeros = 40, kBatch = 128;
constexpr int kRuns = 7;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class CsrSteps {
 public:
  explicit CsrSteps(const std::string& rule)
      : options_(options_for(rule)),
        data_(open_session_data(options_)),
        session_(options_, info(), team_),
        slot_(training().make_slot()),
        batch_(make_batch(info(), kBatch)),
        order_(kSamples) {
    std::iota(order_.begin(), order_.end(), 0);
    Rng rng{1};
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[rng.below(i)]);
    training().bind(slot_, "dloss", dloss_.bytes().data());
    training().bind(slot_, "hyper", reinterpret_cast<std::byte*>(&hyper_));
    training().bind(slot_, "key", reinterpret_cast<std::byte*>(key_));
    hyper_.learning_rate = 0.1;
    dloss_.values<float>()[0] = 1.0F / kBatch;
    std::fill(batch_.weight.values<float>().begin(), batch_.weight.values<float>().end(), 1.0F);
    bind_batch(training(), slot_, info(), batch_);
  }

  // Seconds of the processor for one pass over the samples: all of it, and the steps without the copies.
  std::pair<double, double> epoch() {
    double all = 0, steps = 0;
    for (std::int64_t first = 0; first + kBatch <= kSamples; first += kBatch) {
      const double start = cpu_seconds();
      data_.train->gather(std::span(order_).subspan(static_cast<std::size_t>(first), kBatch), 0,
                          batch_.fields);
      const double gathered = cpu_seconds();
      for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
        training().run(phase, slot_, session_.memory().bindings());
      const double end = cpu_seconds();
      all += end - start;
      steps += end - gathered;
    }
    return {all, steps};
  }
  double loss() { return scalar_output(training(), slot_, "loss") / kBatch; }

 private:
  static TrainOptions options_for(const std::string& rule) {
    TrainOptions options;
    options.model = "logreg,bias=0";
    options.data =
        fmt::format("synthetic:sparse,samples={},features={},nonzeros={}", kSamples, kFeatures, kNonzeros);
    options.optimizer.rule = rule;
    options.batch = kBatch;
    return options;
  }
  const DataInfo& info() const { return data_.train->info(); }
  Executable& training() { return session_.program().training(); }

  TrainOptions options_;
  SessionData data_;
  Team team_;
  Session session_;
  Slot slot_;
  Batch batch_;
  std::vector<std::int64_t> order_;
  Tensor dloss_{DType::f32, {}};
  Hyper hyper_;
  std::int64_t key_[3] = {0, 0, 0};
};

void measure(const std::string& rule) {
  CsrSteps steps(rule);
  steps.epoch();
  std::vector<double> all, only;
  for (int run = 0; run < kRuns; ++run) {
    const auto [with_copies, without] = steps.epoch();
    all.push_back(with_copies);
    only.push_back(without);
  }
  const auto rate = [](std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    const double entries = 1e-6 * static_cast<double>(kSamples * kNonzeros);
    return fmt::format("{:.1f} ({:.1f} to {:.1f})", entries / seconds[seconds.size() / 2],
                       entries / seconds.back(), entries / seconds.front());
  };
  fmt::print("{:8} {:>28} {:>28}   last loss {:.4f}\n", rule, rate(only), rate(all), steps.loss());
}

}  // namespace
}  // namespace hocket

int main() {
  hocket::kernel::set_num_threads(1);
  fmt::print("{:8} {:>28} {:>28}\n", "rule", "M non-zeros/s of the core", "with copying the batch");
  for (const char* rule : {"sgd", "adagrad"}) hocket::measure(rule);
}
