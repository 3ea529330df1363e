// Counts what a training step allocates, by replacing the global operator new of this test program. oneDNN's
// own calls are told from ours by the address they come from.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "train/trainer.h"

namespace {

std::atomic<std::int64_t> our_allocations{0};
std::atomic<std::int64_t> library_allocations{0};

bool comes_from_onednn(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "dnnl") != nullptr;
}

// Null when there is no memory left.
void* try_counted(std::size_t bytes, std::size_t alignment, const void* caller) {
  ++(comes_from_onednn(caller) ? library_allocations : our_allocations);
  const std::size_t whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, whole);
}

void* counted(std::size_t bytes, std::size_t alignment, const void* caller) {
  void* memory = try_counted(bytes, alignment, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, 16, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return counted(bytes, 16, __builtin_return_address(0)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return try_counted(bytes, 16, __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return try_counted(bytes, 16, __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace hocket {
namespace {

// Notes both counters at the end of every step.
class StepCounter final : public TrainObserver {
 public:
  void on_span(Activity activity, std::int64_t, std::int64_t) override {
    if (activity != Activity::update || steps_ == ours_.size()) return;
    ours_[steps_] = our_allocations.load();
    library_[steps_++] = library_allocations.load();
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
  train(options, counter, stop);
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
