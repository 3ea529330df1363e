#include "tensor/kernels/simd_targets.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hwy/targets.h"

// With HOCKET_TEST_SIMD=avx2 or =none all tests of this program run as on a processor that has no more.
namespace hocket::kernel {
namespace {

class LesserProcessor final : public testing::Environment {
 public:
  void SetUp() override {
    const char* variable = std::getenv("HOCKET_TEST_SIMD");
    if (variable == nullptr) return;
    const std::string_view simd = variable;
    ASSERT_TRUE(simd == "avx2" || simd == "none") << "HOCKET_TEST_SIMD is avx2 or none, not " << simd;
    const std::int64_t missing = HWY_AVX3 | HWY_AVX3_DL | (simd == "none" ? HWY_AVX2 : 0);
    hwy::DisableTargets(missing);
    ASSERT_EQ(hwy::SupportedTargets() & missing, 0);
  }
};

const auto* const lesser_processor = testing::AddGlobalTestEnvironment(new LesserProcessor);

}  // namespace
}  // namespace hocket::kernel
