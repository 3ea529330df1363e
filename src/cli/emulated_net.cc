#include "cli/emulated_net.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"
#include "net/file_descriptor.h"

namespace hocket {
namespace {

constexpr int kNoFile = -1;

std::string name_of_job(std::uint64_t job) { return fmt::format("/hocket-links-{:016x}", job); }

std::byte* map_shared(std::size_t bytes, int file) {
  const bool is_sized = file == kNoFile || ::ftruncate(file, static_cast<off_t>(bytes)) == 0;
  const int flags = MAP_SHARED | (file == kNoFile ? MAP_ANONYMOUS : 0);
  void* memory = is_sized ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0) : MAP_FAILED;
  if (memory == MAP_FAILED)
    throw Error("cannot map {} bytes for emulated links: {}", bytes, std::strerror(errno));
  return static_cast<std::byte*>(memory);
}

// Made by whoever comes first; new bytes are zero, as the ledger wants them.
FileDescriptor open_shared(const std::filesystem::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open()) throw Error("{}: {}", path.string(), std::strerror(errno));
  return file;
}

FileDescriptor open_shared(std::uint64_t job) {
  FileDescriptor file(::shm_open(name_of_job(job).c_str(), O_RDWR | O_CREAT, 0600));
  if (!file.is_open()) throw Error("cannot share memory for emulated links: {}", std::strerror(errno));
  return file;
}

}  // namespace

void EmulatedNet::Unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

EmulatedNet::EmulatedNet(Topology topology, int file)
    : topology_(std::move(topology)),
      memory_(map_shared(LinkLedger::bytes_needed(topology_.links()), file),
              Unmap{LinkLedger::bytes_needed(topology_.links())}),
      ledger_(topology_.links(), std::span(memory_.get(), LinkLedger::bytes_needed(topology_.links()))) {}

EmulatedNet::EmulatedNet(std::string_view topology, int ranks)
    : EmulatedNet(open_topology(topology, ranks), kNoFile) {}

EmulatedNet::EmulatedNet(std::string_view topology, int ranks, std::uint64_t job)
    : EmulatedNet(open_topology(topology, ranks), open_shared(job).get()) {}

EmulatedNet::EmulatedNet(std::string_view topology, int ranks, const std::filesystem::path& file)
    : EmulatedNet(open_topology(topology, ranks), open_shared(file).get()) {}

void EmulatedNet::forget_job(std::uint64_t job) { ::shm_unlink(name_of_job(job).c_str()); }

}  // namespace hocket
