#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "train/test_allocations.h"
#include "train/trainer.h"

namespace hocket {
namespace {

// Notes both counters at the end of every step.
class StepCounter final : public TrainObserver {
 public:
  void on_span(Activity activity, std::int64_t, std::int64_t) override {
    if (activity != Activity::update || steps_ == ours_.size()) return;
    ours_[steps_] = allocation_counts().ours.load();
    library_[steps_++] = allocation_counts().library.load();
  }

  std::size_t steps() const { return steps_; }
  std::int64_t ours(std::size_t step) const { return ours_[step] - ours_[step - 1]; }
  std::int64_t library(std::size_t step) const { return library_[step] - library_[step - 1]; }

 private:
  std::size_t steps_ = 0;
  std::array<std::int64_t, 16> ours_{}, library_{};
};

class StepAllocations : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(StepAllocations, AreNoneOfOursAfterTheFirstStep) {
  TrainOptions options;
  options.model = GetParam().first;
  options.data = GetParam().second;
  options.batch = 8;
  options.steps = 10;
  options.log_every = 1000;
  options.eval_every = 1000;
  options.threads = 1;
  StepCounter counter;
  const std::atomic<bool> stop{false};
  Team alone;
  train(options, counter, stop, alone);
  ASSERT_EQ(counter.steps(), 10U);
  for (std::size_t step = 2; step < 9; ++step) {  // The last step records its metrics.
    EXPECT_EQ(counter.ours(step), 0) << "step " << step;
    EXPECT_EQ(counter.library(step), counter.library(2)) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, StepAllocations,
    testing::Values(std::pair("mlp,hidden=32x32", "synthetic:mnist,samples=160"),
                    std::pair("lenet,channels=4x8,hidden=16", "synthetic:mnist,samples=160"),
                    std::pair("resnet,depth=8", "synthetic:cifar10,samples=160"),
                    std::pair("gpt,layers=1,width=16,heads=2", "synthetic:text,samples=160")));

}  // namespace
}  // namespace hocket
