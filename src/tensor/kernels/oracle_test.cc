#include "tensor/kernels/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/rng.h"
#include "tensor/arena.h"
#include "tensor/kernels/threads.h"

namespace hocket::kernel {
namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr std::byte kGuard{0xA5};

std::vector<std::byte*> pointers(const std::vector<Operand>& operands) {
  std::vector<std::byte*> result;
  result.reserve(operands.size());
  for (const Operand& operand : operands) result.push_back(operand.data());
  return result;
}

void run(const Kernel& kernel, const std::vector<Operand>& in, const std::vector<Operand>& out) {
  Arena scratch(align_up(kernel.scratch_bytes() + 1));
  std::memset(scratch.data(), 0xFF, scratch.size());
  kernel.run(pointers(in), pointers(out), scratch.data());
}

double value_of(const Operand& operand, std::int64_t i) {
  return visit_dtype(operand.dtype(), [&]<typename T>(T) -> double {
    const T value = operand.as<T>()[i];
    if constexpr (std::is_class_v<T>) {
      return static_cast<double>(static_cast<float>(value));
    } else {
      return static_cast<double>(value);
    }
  });
}

#if defined(__SANITIZE_THREAD__)
constexpr bool kMayUseThreads = false;
#elif defined(__has_feature)
constexpr bool kMayUseThreads = !__has_feature(thread_sanitizer);
#else
constexpr bool kMayUseThreads = true;
#endif

class WithThreads final : public Kernel {
 public:
  WithThreads(int threads, std::unique_ptr<Kernel> kernel) : threads_(threads), kernel_(std::move(kernel)) {}
  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    set_num_threads(threads_);
    kernel_->run(in, out, scratch);
    set_num_threads(1);
  }
  std::size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }

 private:
  int threads_;
  std::unique_ptr<Kernel> kernel_;
};

bool is_floating(DType dtype) { return dtype != DType::i32 && dtype != DType::i64 && dtype != DType::u8; }

void expect_close(const Operand& fast, const Operand& oracle, double tolerance, const std::string& what) {
  EXPECT_TRUE(fast.guard_is_intact()) << what << " writes past its end";
  for (std::int64_t i = 0; i < fast.count(); ++i) {
    const double a = value_of(fast, i), b = value_of(oracle, i);
    const double allowed = is_floating(fast.dtype()) ? tolerance * (1 + std::fabs(b)) : 0;
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= allowed) continue;
    ADD_FAILURE() << what << "[" << i << " of " << fast.count() << "] is " << a << ", the reference says "
                  << b;
    return;
  }
}

}  // namespace

Operand::Operand(DType dtype, std::int64_t count)
    : dtype_(dtype),
      count_(count),
      bytes_(static_cast<std::size_t>(count) * size_of(dtype) + kGuardBytes + kAlignment, kGuard) {
  skip_ = align_up(reinterpret_cast<std::uintptr_t>(bytes_.data())) -
          reinterpret_cast<std::uintptr_t>(bytes_.data());
}

Operand::Operand(const Operand& other) : Operand(other.dtype_, other.count_) {
  std::memcpy(data(), other.data(), static_cast<std::size_t>(count_) * size_of(dtype_));
}

bool Operand::guard_is_intact() const {
  const std::byte* end = data() + static_cast<std::size_t>(count_) * size_of(dtype_);
  return std::all_of(end, end + kGuardBytes, [](std::byte b) { return b == kGuard; });
}

Operand random_floats(std::int64_t count, std::uint64_t seed, double low, double high) {
  Operand result(DType::f32, count);
  Rng rng({seed});
  for (std::int64_t i = 0; i < count; ++i) result.as<float>()[i] = static_cast<float>(rng.uniform(low, high));
  return result;
}

Operand random_ints(std::int64_t count, std::uint64_t seed, std::int64_t low, std::int64_t high) {
  Operand result(DType::i32, count);
  Rng rng({seed});
  for (std::int64_t i = 0; i < count; ++i) {
    result.as<std::int32_t>()[i] = static_cast<std::int32_t>(
        low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low))));
  }
  return result;
}

Operand random_bytes(std::int64_t count, std::uint64_t seed, std::int64_t end) {
  const Operand values = random_ints(count, seed, 0, end);
  Operand result(DType::u8, count);
  std::copy_n(values.as<std::int32_t>(), count, result.as<std::uint8_t>());
  return result;
}

Operand floats(const std::vector<float>& values) {
  Operand result(DType::f32, static_cast<std::int64_t>(values.size()));
  std::copy(values.begin(), values.end(), result.as<float>());
  return result;
}

Operand doubles(const std::vector<double>& values) {
  Operand result(DType::f64, static_cast<std::int64_t>(values.size()));
  std::copy(values.begin(), values.end(), result.as<double>());
  return result;
}

Operand ints(const std::vector<std::int32_t>& values) {
  Operand result(DType::i32, static_cast<std::int64_t>(values.size()));
  std::copy(values.begin(), values.end(), result.as<std::int32_t>());
  return result;
}

Operand to_bf16(const Operand& values) {
  Operand result(DType::bf16, values.count());
  for (std::int64_t i = 0; i < values.count(); ++i)
    result.as<BFloat16>()[i] = BFloat16(values.as<float>()[i]);
  return result;
}

void expect_same(const std::unique_ptr<Kernel>& fast, const std::unique_ptr<Kernel>& oracle,
                 const std::vector<Operand>& in, const std::vector<Operand>& out, double tolerance,
                 const std::string& what) {
  ASSERT_NE(fast, nullptr) << what;
  ASSERT_NE(oracle, nullptr) << what;
  const std::vector<Operand> fast_in = in, fast_out = out, oracle_in = in, oracle_out = out;
  run(*fast, fast_in, fast_out);
  run(*oracle, oracle_in, oracle_out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    expect_close(fast_in[i], oracle_in[i], tolerance, what + " operand " + std::to_string(i));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    expect_close(fast_out[i], oracle_out[i], tolerance, what + " output " + std::to_string(i));
  }
}

std::unique_ptr<Kernel> with_threads(int threads, std::unique_ptr<Kernel> kernel) {
  return std::make_unique<WithThreads>(kMayUseThreads ? threads : 1, std::move(kernel));
}

TEST(Oracle, GuardSeesAWriteBehindTheEnd) {
  const Operand operand = random_floats(3, 1);
  EXPECT_TRUE(operand.guard_is_intact());
  operand.as<float>()[3] = 0;
  EXPECT_FALSE(operand.guard_is_intact());
}

}  // namespace hocket::kernel
