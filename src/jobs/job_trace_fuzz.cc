// Whatever a trace file holds: jobs or a DataError.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "jobs/job_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    hocket::parse_job_trace({reinterpret_cast<const char*>(data), size}, "trace");
  } catch (const hocket::DataError&) {
  }
  return 0;
}
