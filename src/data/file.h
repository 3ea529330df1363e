#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

bool is_gzip(std::span<const std::byte> bytes);

// Inflates a gzip file, of one or more members, that lies in memory; `name` is for messages. Memory grows
// with what is really there, whatever the file claims. Throws DataError.
struct Inflated {
  std::unique_ptr<std::byte[]> data;
  std::size_t size = 0;
};
Inflated gunzip(std::string_view name, std::span<const std::byte> bytes);

// Writes `bytes` to `path` under a temporary name, and renames it. Throws Error where the disk does not take
// them.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace hocket
