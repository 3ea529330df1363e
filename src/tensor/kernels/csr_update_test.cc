#include "tensor/kernels/csr_update.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tensor/kernels/oracle.h"
#include "tensor/kernels/sparse.h"
#include "tensor/kernels/update.h"
#include "tensor/reference/csr_update.h"

namespace hocket::kernel {
namespace {

constexpr std::int64_t kRows = 300, kCapacity = 1300;

struct Scene {
  Scene(UpdateRule rule, std::int64_t features) {
    spec.csr = {.n = kRows, .capacity = kCapacity, .features = features, .k = 1};
    spec.update.rule = rule;
    spec.update.eps = 1e-10;
    std::vector<std::int32_t> starts{0};
    for (int i = 0; i < kRows; ++i) starts.push_back(starts.back() + i % 9);
    in.push_back(random_floats(features, 1));
    in.push_back(random_floats(kRows, 2));
    in.push_back(random_floats(kCapacity, 3));
    in.push_back(random_ints(kCapacity, 4, -2, features + 2));
    in.push_back(ints(starts));
    in.push_back(doubles({0.05, 1, 1, 2}));
    if (spec.update.slots() > 0) in.push_back(random_floats(features, 5, 0, 1));
  }

  CsrUpdateSpec spec;
  std::vector<Operand> in;
};

// csr_matmul_dw to a whole gradient, then the update of all of w.
std::unique_ptr<Kernel> make_two_kernels(const CsrUpdateSpec& spec) {
  UpdateSpec update = spec.update;
  update.count = spec.csr.features;
  const std::shared_ptr<Kernel> dw = make_csr_matmul_dw(spec.csr), all = make_update(update);
  return make_kernel([=](Buffers in, Buffers) {
    std::vector<float> gradient(static_cast<std::size_t>(update.count));
    std::byte* const out[] = {reinterpret_cast<std::byte*>(gradient.data())};
    std::byte* const products[] = {in[1], in[2], in[3], in[4]};
    dw->run(products, out, nullptr);
    std::vector<std::byte*> operands{in[0], out[0]};
    operands.insert(operands.end(), in.begin() + 5, in.end());
    all->run(operands, {}, nullptr);
  });
}

TEST(CsrUpdate, LeavesTheBitsOfAWholeGradientAndItsUpdate) {
  for (const UpdateRule rule : {UpdateRule::sgd, UpdateRule::adagrad}) {
    for (const std::int64_t features : {7, 5000}) {
      const Scene scene(rule, features);
      const auto what = fmt::format("rule {} features {}", static_cast<int>(rule), features);
      expect_same(make_csr_update(scene.spec), make_two_kernels(scene.spec), scene.in, {}, 0, what);
      expect_same(make_csr_update(scene.spec), reference::make_csr_update(scene.spec), scene.in, {}, 1e-5,
                  what);
    }
  }
}

TEST(CsrUpdate, LeavesOutWhatItCannotDoInPlace) {
  CsrUpdateSpec spec;
  spec.update.rule = UpdateRule::adam;
  EXPECT_EQ(make_csr_update(spec), nullptr);
  spec.update = {.decay = 0.1};
  EXPECT_EQ(make_csr_update(spec), nullptr);
  spec.update = {};
  spec.csr.k = 2;
  EXPECT_EQ(make_csr_update(spec), nullptr);
}

}  // namespace
}  // namespace hocket::kernel
