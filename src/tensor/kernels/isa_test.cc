#include "tensor/kernels/isa.h"

#include <gtest/gtest.h>

#include <dnnl.hpp>

namespace hocket::kernel {
namespace {

TEST(Isa, SaysWhyBf16IsSlow) {
  const IsaReport report = cpu_report();
  EXPECT_FALSE(report.vectors.empty());
  EXPECT_FALSE(report.has_amx && report.amx_is_broken);
  EXPECT_EQ(report.bf16_note.empty(), report.has_amx);
}

TEST(Isa, AddsBesideProductsOnAmdsProcessorsAlone) {
  EXPECT_FALSE(adds_beside_products() && !__builtin_cpu_is("amd"));
  EXPECT_TRUE(adds_beside_products() || !__builtin_cpu_is("znver3"));
}

TEST(Isa, KeepsOneDnnOffTilesThatFault) {
  cap_dnnl_isa();
  if (!cpu_report().amx_is_broken) GTEST_SKIP() << "this processor describes its tiles, or has none";
  EXPECT_LE(static_cast<int>(dnnl::get_effective_cpu_isa()),
            static_cast<int>(dnnl::cpu_isa::avx512_core_bf16));
}

}  // namespace
}  // namespace hocket::kernel
