#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hocket {

// Appends numbers (little endian) and texts to a message. A value type.
class WireWriter {
 public:
  template <std::integral T>
  void put(T value) {
    const auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<std::byte>(bits >> (8 * i)));
  }
  void put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads them back and trusts nothing: what is not there reads as zero or empty, and is_good() is false from
// then on. A length is never believed beyond the bytes that are there.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : left_(bytes), size_(bytes.size()) {}

  template <std::integral T>
  T get() {
    std::make_unsigned_t<T> bits = 0;
    const auto bytes = get_bytes(sizeof(T));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bits = static_cast<decltype(bits)>(bits | (static_cast<decltype(bits)>(bytes[i]) << (8 * i)));
    }
    return static_cast<T>(bits);
  }
  std::span<const std::byte> get_bytes(std::size_t count) {
    if (count > left_.size()) {
      is_good_ = false;
      left_ = {};
      return {};
    }
    const auto bytes = left_.first(count);
    left_ = left_.subspan(count);
    return bytes;
  }
  std::string get_text() {
    const auto bytes = get_bytes(get<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  bool is_good() const { return is_good_; }
  bool is_at_end() const { return left_.empty(); }
  std::size_t position() const { return size_ - left_.size(); }

 private:
  std::span<const std::byte> left_;
  std::size_t size_;
  bool is_good_ = true;
};

}  // namespace hocket
