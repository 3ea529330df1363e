#include "data/file.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"

namespace hocket {
namespace {

// No gzip member is larger, inflated, than this times its compressed size (a limit of the deflate format).
constexpr std::size_t kMaxRatio = 1032;
constexpr std::size_t kMaxInflated = std::size_t{16} << 30;
constexpr std::size_t kWriteBuffer = std::size_t{1} << 20;

std::atomic<std::uint64_t> opened_bytes = 0;  // A measurement, as the kernel's of the process are.

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

// Says what is wrong with a stream that did not inflate: zlib knows the byte, libdeflate is faster.
[[noreturn]] void throw_damaged(std::string_view name, std::span<const std::byte> bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw Error("cannot start zlib");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), UINT32_MAX));
  std::vector<Bytef> sink(1 << 16);
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = sink.data();
    stream.avail_out = static_cast<uInt>(sink.size());
    status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END && stream.avail_in > 0) status = inflateReset(&stream);
  }
  const std::string why = stream.msg == nullptr ? "" : stream.msg;
  const std::size_t at = bytes.size() - stream.avail_in;
  inflateEnd(&stream);
  if (status == Z_BUF_ERROR)
    throw DataError("{}: truncated gzip: the file ends at byte {}, inside the stream", name, at);
  throw DataError("{}: damaged gzip at byte {}: {}", name, at, why.empty() ? "bad stream" : why);
}

// The last four bytes of a gzip file are the inflated size of its last member, modulo 2^32.
std::size_t claimed_size(std::span<const std::byte> bytes) {
  std::uint32_t size = 0;
  if (bytes.size() >= 4) std::memcpy(&size, bytes.data() + bytes.size() - 4, 4);
  return size;
}

void enlarge(Inflated& buffer, std::size_t used, std::size_t size) {
  auto larger = std::make_unique_for_overwrite<std::byte[]>(size);
  if (used > 0) std::memcpy(larger.get(), buffer.data.get(), used);
  buffer = {std::move(larger), size};
}

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Inflated gunzip(std::string_view name, std::span<const std::byte> bytes) {
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(
      libdeflate_alloc_decompressor());
  if (decompressor == nullptr) throw Error("cannot allocate a decompressor");
  Inflated out;
  enlarge(out, 0, std::min({claimed_size(bytes), bytes.size() * kMaxRatio, kMaxInflated}) + 1);
  std::size_t used = 0;
  for (auto left = bytes; !left.empty();) {
    std::size_t taken = 0;
    std::size_t made = 0;
    const auto result = libdeflate_gzip_decompress_ex(decompressor.get(), left.data(), left.size(),
                                                      out.data.get() + used, out.size - used, &taken, &made);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
      if (out.size >= kMaxInflated)
        throw DataError("{}: gzip inflates to more than {} bytes", name, kMaxInflated);
      enlarge(out, used, std::min(out.size * 2 + 4096, kMaxInflated));
      continue;
    }
    if (result != LIBDEFLATE_SUCCESS) throw_damaged(name, bytes);
    used += made;
    left = left.subspan(taken);
  }
  out.size = used;
  return out;
}

std::uint64_t bytes_of_opened_files() { return opened_bytes; }

FileBytes::FileBytes(const std::filesystem::path& path) : name_(path.string()) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw DataError("{}: cannot open: {}", name_, std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw DataError("{}: cannot read: {}", name_, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw DataError("{}: is a directory, expected a file", name_);
  if (!S_ISREG(status.st_mode)) throw DataError("{}: expected a regular file", name_);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) throw DataError("{}: the file is empty", name_);

  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.get(), 0);
  if (memory == MAP_FAILED) throw DataError("{}: cannot map: {}", name_, std::strerror(errno));
  owner_ = {static_cast<const std::byte*>(memory),
            [size](const std::byte* mapped) { ::munmap(const_cast<std::byte*>(mapped), size); }};
  bytes_ = {owner_.get(), size};
  opened_bytes += size;
  if (is_gzip(bytes_)) {
    Inflated inflated = gunzip(name_, bytes_);
    owner_ =
        std::shared_ptr<const std::byte>(inflated.data.release(), std::default_delete<const std::byte[]>());
    bytes_ = {owner_.get(), inflated.size};
    if (bytes_.empty()) throw DataError("{}: the file is empty once inflated", name_);
  }
}

FileWriter::FileWriter(std::filesystem::path path)
    : path_(std::move(path)),
      temporary_(path_.string() + ".partial"),
      file_(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  if (file_ < 0) fail("create");
}

FileWriter::~FileWriter() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

void FileWriter::fail(const char* what) const {
  throw Error("{}: cannot {}: {}", path_.string(), what, std::strerror(errno));
}

void FileWriter::append(std::span<const std::byte> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  if (buffer_.size() >= kWriteBuffer) flush();
}

void FileWriter::flush() {
  for (std::span<const std::byte> left = buffer_; !left.empty();) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno != EINTR) fail("write");
    if (written > 0) left = left.subspan(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void FileWriter::commit() {
  flush();
  if (::fsync(file_) != 0) fail("write");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
  ::close(std::exchange(file_, -1));
}

}  // namespace hocket
