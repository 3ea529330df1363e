#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tensor/kernel_specs.h"
#include "tensor/kernels/oracle.h"

// For tests: a product that runs in parts, and one that workers share.
namespace hocket::kernel {

// A layer whose weight arrives, or a gradient of a weight that leaves, part by part of so many units: a part
// that is read too early is NaN, one that is written too late is lost.
class InParts final : public Kernel {
 public:
  InParts(const MatmulSpec& s, std::unique_ptr<Kernel> kernel, std::int64_t units)
      : is_layer_(s.tb),
        count_(is_layer_ ? s.n * s.k : s.m * s.n),
        units_(units),
        kernel_(std::move(kernel)) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const Operand here(DType::f32, count_);
    std::fill_n(here.as<float>(), count_, std::numeric_limits<float>::quiet_NaN());
    std::vector<std::byte*> from(in.begin(), in.end()), to(out.begin(), out.end());
    (is_layer_ ? from[1] : to[0]) = here.data();
    const std::int64_t part = units_ * kernel_->part_unit();
    ASSERT_GT(part, 0);
    for (std::int64_t begin = 0; begin < count_; begin += part) {
      const std::int64_t end = std::min(begin + part, count_);
      const auto bytes = static_cast<std::size_t>(end - begin) * sizeof(float);
      const std::int64_t at = begin * static_cast<std::int64_t>(sizeof(float));
      if (is_layer_) std::memcpy(here.data() + at, in[1] + at, bytes);
      kernel_->run_part(begin, end, from, to, scratch);
      if (!is_layer_) std::memcpy(out[0] + at, here.data() + at, bytes);
    }
  }
  std::size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }

 private:
  bool is_layer_;
  std::int64_t count_, units_;
  std::unique_ptr<Kernel> kernel_;
};

// A product as workers make it who share a batch: `kernel` makes `rows` rows of it.
class InShares final : public Kernel {
 public:
  InShares(const MatmulSpec& whole, std::int64_t rows, std::unique_ptr<Kernel> kernel)
      : whole_(whole), rows_(rows), kernel_(std::move(kernel)) {}
  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    for (std::int64_t row = 0; row < whole_.m; row += rows_) {
      std::vector<std::byte*> from(in.begin(), in.end());
      from[0] += row * whole_.k * 4;
      std::byte* y = out[0] + row * whole_.n * 4;
      kernel_->run(from, std::array{y}, scratch);
    }
  }
  std::size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }

 private:
  MatmulSpec whole_;
  std::int64_t rows_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace hocket::kernel
