#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/kernel.h"

// For the tests of the fast kernels: the same operands go through a fast kernel and through its reference,
// and every operand must come out the same, within a tolerance.
namespace hocket::kernel {

// A test operand: elements with guard bytes behind them, 64-byte aligned. Copies are deep.
class Operand {
 public:
  Operand(DType dtype, std::int64_t count);

  DType dtype() const { return dtype_; }
  std::int64_t count() const { return count_; }
  std::byte* data() const { return const_cast<std::byte*>(bytes_.data()) + skip_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  bool guard_is_intact() const;

  Operand(const Operand& other);
  Operand& operator=(const Operand&) = delete;

 private:
  DType dtype_;
  std::int64_t count_;
  std::vector<std::byte> bytes_;
  std::size_t skip_ = 0;
};

// Uniform in [low, high), the same on every call with the same seed.
Operand random_floats(std::int64_t count, std::uint64_t seed, double low = -1, double high = 1);
Operand random_ints(std::int64_t count, std::uint64_t seed, std::int64_t low, std::int64_t high);
Operand random_bytes(std::int64_t count, std::uint64_t seed, std::int64_t end);
Operand floats(const std::vector<float>& values);
Operand doubles(const std::vector<double>& values);
Operand ints(const std::vector<std::int32_t>& values);
Operand to_bf16(const Operand& values);

// In f32, of a few operations and of a sum of many products.
constexpr double kTolerance = 1e-6;
constexpr double kSumTolerance = 1e-5;

// Runs both kernels on copies of `in` and on outputs shaped like `out`, and expects every operand to agree
// afterwards: |fast − oracle| ≤ tolerance·(1 + |oracle|) for floats, equality for integers. Scratch memory
// starts as NaN.
void expect_same(const std::unique_ptr<Kernel>& fast, const std::unique_ptr<Kernel>& oracle,
                 const std::vector<Operand>& in, const std::vector<Operand>& out, double tolerance,
                 const std::string& what);

// `kernel` run with so many threads. Where the thread sanitizer would misread OpenMP's barriers, with one.
std::unique_ptr<Kernel> with_threads(int threads, std::unique_ptr<Kernel> kernel);

}  // namespace hocket::kernel
