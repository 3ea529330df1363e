#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/arena.h"

namespace hocket {

// A file being written. Destroying it closes it, durable or not. Used by one thread.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  virtual void sync() = 0;  // The bytes written so far survive a power cut.
};

// A regular file open for reading, at any place and by any thread.
class InputFile {
 public:
  virtual ~InputFile() = default;
  virtual std::uint64_t size() const = 0;  // As it was when the file was opened.
  virtual void read(std::uint64_t offset, std::span<std::byte> to) = 0;  // All of `to`, or a DataError.
};

// The few operations on disk that a checkpoint needs, so that tests can fail each of them. Every failure is
// an Error, or a DataError where reading fails, that names the file and the reason. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual void create_directories(const std::filesystem::path& path) = 0;
  virtual std::unique_ptr<OutputFile> create(const std::filesystem::path& path) = 0;
  // Read rather than mapped: damage then is an error at one place, not a signal later.
  virtual std::unique_ptr<InputFile> open(const std::filesystem::path& path) = 0;
  Arena read(const std::filesystem::path& path);  // The whole file.
  virtual std::vector<std::string> list(
      const std::filesystem::path& directory) = 0;  // Empty if there is none.
  virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  // Swaps two directories, at once where the file system can.
  virtual void exchange(const std::filesystem::path& a, const std::filesystem::path& b) = 0;
  virtual void remove_all(const std::filesystem::path& path) = 0;
  virtual void sync_directory(const std::filesystem::path& path) = 0;
};

FileSystem& posix_file_system();

// For cleaning up after a failure, which is what the caller reports.
bool try_remove_all(FileSystem& files, const std::filesystem::path& path) noexcept;

// Writes `text` to `path` so that a reader sees either the old file or all of the new one, also after a power
// cut.
void write_file_atomically(FileSystem& files, const std::filesystem::path& path, std::string_view text);

}  // namespace hocket
