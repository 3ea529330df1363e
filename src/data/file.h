#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

// The bytes of a file: mapped into memory, or inflated where the file is gzip. Immutable; movable.
//
// Throws DataError when the file cannot be read, is a directory, or holds a damaged gzip stream.
class FileBytes {
 public:
  explicit FileBytes(const std::filesystem::path& path);

  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  // Keeps the bytes alive.
  const std::shared_ptr<const std::byte>& owner() const { return owner_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  std::string name_;
  std::shared_ptr<const std::byte> owner_;
  std::span<const std::byte> bytes_;
};

// Of all files that this process has opened as FileBytes so far, as they lie on disk. Thread-safe.
std::uint64_t bytes_of_opened_files();

bool is_gzip(std::span<const std::byte> bytes);

// Inflates a gzip file, of one or more members, that lies in memory; `name` is for messages. Memory grows
// with what is really there, whatever the file claims. Throws DataError.
struct Inflated {
  std::unique_ptr<std::byte[]> data;
  std::size_t size = 0;
};
Inflated gunzip(std::string_view name, std::span<const std::byte> bytes);

// A file written piece by piece under a temporary name, which commit() syncs and renames; without commit()
// nothing is left behind. Used by one thread. Throws Error where the disk does not take the bytes.
class FileWriter {
 public:
  explicit FileWriter(std::filesystem::path path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text) { append(std::as_bytes(std::span(text.data(), text.size()))); }
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path path_;
  std::string temporary_;
  int file_;
  std::vector<std::byte> buffer_;
};

}  // namespace hocket
