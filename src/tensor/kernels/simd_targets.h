#pragma once

// Include it before hwy/foreach_target.h: AVX-512, AVX2 and the portable fallback are enough, and keep the
// build short.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
