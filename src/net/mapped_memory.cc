#include "net/mapped_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace hocket {

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

void MappedMemory::Unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

MappedMemory MappedMemory::map(int fd, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    ::close(fd);
    throw Error("cannot map {} bytes of shared memory: {}", bytes, std::strerror(error));
  }
  MappedMemory mapped;
  mapped.memory_ = std::unique_ptr<std::byte, Unmap>(static_cast<std::byte*>(memory), Unmap{bytes});
  mapped.size_ = bytes;
  mapped.fd_ = fd;
  return mapped;
}

MappedMemory MappedMemory::create(std::size_t bytes) {
  const int fd = ::memfd_create("hocket", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) throw Error("cannot create shared memory: {}", std::strerror(errno));
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0 || ::fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    const int error = errno;
    ::close(fd);
    throw Error("cannot make {} bytes of shared memory: {}", bytes, std::strerror(error));
  }
  return map(fd, bytes);
}

MappedMemory MappedMemory::open(int pid, int fd, std::size_t bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) throw Error("cannot open the shared memory of process {}: {}", pid, std::strerror(errno));
  struct stat status = {};
  const bool is_sound = ::fstat(opened, &status) == 0 && static_cast<std::size_t>(status.st_size) == bytes &&
                        (::fcntl(opened, F_GET_SEALS) & kSeals) == kSeals;
  if (!is_sound) {
    ::close(opened);
    throw Error("{} is not sealed shared memory of {} bytes", path, bytes);
  }
  MappedMemory mapped = map(opened, bytes);
  mapped.close_fd();
  return mapped;
}

void MappedMemory::close_fd() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

MappedMemory::~MappedMemory() { close_fd(); }

MappedMemory::MappedMemory(MappedMemory&& other) noexcept
    : memory_(std::move(other.memory_)),
      size_(std::exchange(other.size_, 0)),
      fd_(std::exchange(other.fd_, -1)) {}

MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept {
  memory_ = std::move(other.memory_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

}  // namespace hocket
