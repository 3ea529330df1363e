#pragma once

#include <string>

namespace hocket::kernel {

// What the processor offers to the kernels, for `hocket doctor` and for the warning about bf16.
struct IsaReport {
  std::string vectors;         // The widest vector set in use: "avx512", "avx2" or "sse".
  bool has_bf16 = false;       // Products of bf16 in vector registers.
  bool has_amx = false;        // Tiles of bf16 that can be used.
  bool amx_is_broken = false;  // Tiles are announced, but the leaf that describes them (0x1D) is hidden.
  std::string bf16_note;       // Why bf16 is slower than f32 here; empty where it is not.
};

// Asks CPUID. Thread-safe.
IsaReport cpu_report();

// Whether products by Strassen's algorithm are known to be faster than oneDNN's on such a processor: on AMD's
// Zen 3 and 4, not on Intel's (docs/decisions/009-strassen.md). Thread-safe.
bool strassen_pays();

// Whether plain products whose terms go in pairs are known to be faster than oneDNN's and than Strassen's on
// such a processor: on AMD's Zen 5 with AVX-512 (docs/decisions/013-pairs-alone.md). Thread-safe.
bool pairs_pay();

// Whether additions of vectors run beside as many multiply-adds, on units of their own: AMD's do since Zen 3.
// Thread-safe.
bool adds_beside_products();

// Keeps oneDNN off the instructions that would fault on this machine. Every factory calls it before its first
// use of oneDNN; the first call does the work. Thread-safe.
void cap_dnnl_isa();

}  // namespace hocket::kernel
