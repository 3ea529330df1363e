#include "train/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* action, const fs::path& path) {
  throw Error("cannot {} {}: {}", action, path.string(), std::strerror(errno));
}

[[noreturn]] void fail_reading(const fs::path& path) {
  throw DataError("cannot read {}: {}", path.string(), std::strerror(errno));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

class PosixOutputFile final : public OutputFile {
 public:
  explicit PosixOutputFile(const fs::path& path)
      : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (!fd_.is_open()) fail("create", path_);
  }

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write", path_);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void sync() override {
    if (::fsync(fd_.get()) != 0) fail("sync", path_);
  }

 private:
  fs::path path_;
  Descriptor fd_;
};

class PosixInputFile final : public InputFile {
 public:
  explicit PosixInputFile(const fs::path& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (!fd_.is_open()) fail_reading(path_);
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0) fail_reading(path_);
    if (!S_ISREG(status.st_mode)) throw DataError("cannot read {}: not a regular file", path_.string());
    size_ = static_cast<std::uint64_t>(status.st_size);
  }

  std::uint64_t size() const override { return size_; }

  void read(std::uint64_t offset, std::span<std::byte> to) override {
    while (!to.empty()) {
      const ssize_t got = ::pread(fd_.get(), to.data(), to.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_reading(path_);
      if (got == 0) throw DataError("cannot read {}: it ends at byte {}", path_.string(), offset);
      offset += static_cast<std::uint64_t>(got);
      to = to.subspan(static_cast<std::size_t>(got));
    }
  }

 private:
  fs::path path_;
  Descriptor fd_;
  std::uint64_t size_ = 0;
};

class PosixFileSystem final : public FileSystem {
 public:
  void create_directories(const fs::path& path) override {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) throw Error("cannot create {}: {}", path.string(), error.message());
  }

  std::unique_ptr<OutputFile> create(const fs::path& path) override {
    return std::make_unique<PosixOutputFile>(path);
  }

  std::unique_ptr<InputFile> open(const fs::path& path) override {
    return std::make_unique<PosixInputFile>(path);
  }

  std::vector<std::string> list(const fs::path& directory) override {
    std::vector<std::string> names;
    std::error_code error;
    fs::directory_iterator entries(directory, error);
    if (error == std::errc::no_such_file_or_directory) return names;
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      names.push_back(entries->path().filename().string());
    }
    if (error) throw DataError("cannot list {}: {}", directory.string(), error.message());
    std::sort(names.begin(), names.end());
    return names;
  }

  void rename(const fs::path& from, const fs::path& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) fail("rename to", to);
  }

  void exchange(const fs::path& a, const fs::path& b) override {
    if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return;
    if (errno != EINVAL && errno != ENOSYS) fail("rename to", b);
    fs::path aside = a;  // A file system without exchange, such as NFS: by three renames.
    aside += ".aside";
    rename(b, aside);
    rename(a, b);
    rename(aside, a);
  }

  void remove_all(const fs::path& path) override {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) throw Error("cannot remove {}: {}", path.string(), error.message());
  }

  void sync_directory(const fs::path& path) override {
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.is_open() || ::fsync(fd.get()) != 0) fail("sync", path);
  }
};

}  // namespace

Arena FileSystem::read(const fs::path& path) {
  const std::unique_ptr<InputFile> file = open(path);
  Arena block(static_cast<std::size_t>(file->size()));
  file->read(0, block.bytes());
  return block;
}

FileSystem& posix_file_system() {
  static PosixFileSystem files;
  return files;
}

bool try_remove_all(FileSystem& files, const fs::path& path) noexcept {
  try {
    files.remove_all(path);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void write_file_atomically(FileSystem& files, const fs::path& path, std::string_view text) {
  fs::path temporary = path;
  temporary += ".tmp";
  try {
    {
      const auto file = files.create(temporary);
      file->write(std::as_bytes(std::span(text)));
      file->sync();
    }
    files.rename(temporary, path);
  } catch (const Error&) {
    try_remove_all(files, temporary);
    throw;
  }
  files.sync_directory(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

}  // namespace hocket
