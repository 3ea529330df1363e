#include "tensor/kernels/isa.h"

#include <cpuid.h>

#include <dnnl.hpp>
#include <mutex>

namespace hocket::kernel {
namespace {

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// The registers of a CPUID leaf; all zero where the processor (or its hypervisor) stops counting before it.
Leaf cpuid(unsigned leaf, unsigned subleaf) {
  Leaf r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

constexpr bool bit(unsigned word, int index) { return ((word >> index) & 1) != 0; }

// oneDNN 2.6 builds its tile palette from leaf 0x1D; an empty one makes the first tile instruction fault.
bool tile_palette_is_described() {
  constexpr unsigned kTileLeaf = 0x1D;
  return cpuid(kTileLeaf, 0).eax >= 1 && cpuid(kTileLeaf, 1).eax != 0;
}

// Of AMD's processors, 0 of others.
unsigned amd_family() {
  constexpr unsigned kAuth = 0x68747541;  // "Auth", of AuthenticAMD.
  const unsigned version = cpuid(1, 0).eax;
  return cpuid(0, 0).ebx == kAuth ? ((version >> 8) & 0xF) + ((version >> 20) & 0xFF) : 0;
}

constexpr unsigned kZen3And4 = 0x19, kZen5 = 0x1A;

}  // namespace

IsaReport cpu_report() {
  const Leaf features = cpuid(7, 0);
  const bool avx512 = bit(features.ebx, 16) && bit(features.ebx, 17) && bit(features.ebx, 30);
  const bool shows_amx = bit(features.edx, 22) || bit(features.edx, 24);

  IsaReport report;
  report.vectors = avx512 ? "avx512" : bit(features.ebx, 5) ? "avx2" : "sse";
  report.has_bf16 = avx512 && bit(cpuid(7, 1).eax, 5);
  report.has_amx = shows_amx && tile_palette_is_described();
  report.amx_is_broken = shows_amx && !report.has_amx;
  if (report.amx_is_broken) {
    report.bf16_note =
        "the hypervisor announces AMX but hides CPUID leaf 0x1D, so oneDNN runs bf16 without AMX";
  } else if (!report.has_amx) {
    report.bf16_note = "the processor has no AMX";
  }
  return report;
}

bool strassen_pays() { return amd_family() == kZen3And4; }

bool pairs_pay() { return amd_family() == kZen5 && cpu_report().vectors == "avx512"; }

bool adds_beside_products() { return amd_family() >= kZen3And4; }

void cap_dnnl_isa() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (cpu_report().amx_is_broken) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16);
  });
}

}  // namespace hocket::kernel
