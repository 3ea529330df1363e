// The header is JSON of one fixed form, {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
// …}, with one optional "__metadata__" of strings. It is read by events, never as a tree: what is not of that
// form is refused where it stands, so a hostile header costs no more memory than its own bytes.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "train/safetensors.h"
#include "train/tensor_part.h"

namespace hocket {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::string_view kMetadataKey = "__metadata__";

constexpr std::array<std::pair<std::string_view, DType>, 7> kDTypeNames{{{"F32", DType::f32},
                                                                         {"F64", DType::f64},
                                                                         {"BF16", DType::bf16},
                                                                         {"F16", DType::f16},
                                                                         {"I32", DType::i32},
                                                                         {"I64", DType::i64},
                                                                         {"U8", DType::u8}}};

// Text of a file inside an error line: short, on one line, without control characters.
std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result = "\"";
  for (const char c : text.substr(0, kLongest)) result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return result + (text.size() > kLongest ? "…\"" : "\"");
}

class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(std::string_view file_name, SafetensorsHeader& header) : file_(file_name), header_(header) {}

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::start: return go(Place::tensors);
      case Place::tensor: return go(Place::tensor_fields);
      case Place::metadata: return go(Place::metadata_fields);
      default: refuse("an object");
    }
  }

  bool key(std::string& key) override {
    if (place_ == Place::tensors) return start_tensor(std::move(key));
    if (place_ == Place::metadata_fields) {
      value_ = &header_.metadata.try_emplace(key).first->second;
      if (!metadata_keys_.insert(key).second) fail("__metadata__ has the key {} twice", in_quotes(key));
      return go(Place::metadata_value);
    }
    return start_field(key);
  }

  bool string(std::string& text) override {
    if (place_ == Place::metadata_value) {
      *value_ = std::move(text);
      return go(Place::metadata_fields);
    }
    if (place_ != Place::dtype) refuse("a string");
    const auto known = std::find_if(kDTypeNames.begin(), kDTypeNames.end(),
                                    [&](const auto& entry) { return entry.first == text; });
    if (known == kDTypeNames.end()) {
      fail("tensor {} has dtype {}; expected F32, F64, BF16, F16, I32, I64 or U8", tensor_name(),
           in_quotes(text));
    }
    dtype_ = known->second;
    return go(Place::tensor_fields);
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::shape) return go(Place::shape_items);
    if (place_ == Place::offsets) return go(Place::offset_items);
    refuse("an array");
  }

  bool number_unsigned(std::uint64_t number) override {
    if (place_ == Place::shape_items) return add_dimension(number);
    if (place_ != Place::offset_items) refuse("a number");
    if (offsets_->size() == 2) fail("tensor {} has more than two data_offsets", tensor_name());
    offsets_->push_back(number);
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offset_items && offsets_->size() != 2) {
      fail("tensor {} has {} data_offsets; expected two", tensor_name(), offsets_->size());
    }
    return go(Place::tensor_fields);
  }

  bool end_object() override {
    switch (place_) {
      case Place::tensors: return go(Place::end);
      case Place::metadata_fields: return go(Place::tensors);
      default: finish_tensor(); return go(Place::tensors);
    }
  }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a boolean"); }
  bool number_integer(std::int64_t) override { refuse("a negative number"); }
  bool number_float(double, const std::string&) override { refuse("a fraction"); }
  bool binary(nlohmann::json::binary_t&) override { refuse("bytes"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail("the header is not JSON at byte {}",
         kSafetensorsLengthBytes + std::max<std::size_t>(position, 1) - 1);
  }

 private:
  enum class Place {
    start,
    tensors,
    tensor,
    tensor_fields,
    dtype,
    shape,
    shape_items,
    offsets,
    offset_items,
    metadata,
    metadata_fields,
    metadata_value,
    end
  };

  bool go(Place place) {
    place_ = place;
    return true;
  }

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw DataError("{}: {}", file_, fmt::format(format, std::forward<Args>(args)...));
  }

  [[noreturn]] void refuse(std::string_view found) const {
    switch (place_) {
      case Place::start: fail("the header is {}; expected a JSON object", found);
      case Place::metadata: fail("__metadata__ is {}; expected an object of strings", found);
      case Place::metadata_value: fail("__metadata__ has {} as a value; expected a string", found);
      case Place::tensor: fail("tensor {} is {}; expected an object", tensor_name(), found);
      case Place::dtype: fail("tensor {} has {} as dtype; expected a string", tensor_name(), found);
      case Place::shape:
      case Place::shape_items:
        fail("tensor {} has {} in its shape; expected whole numbers", tensor_name(), found);
      default: fail("tensor {} has {} in data_offsets; expected two whole numbers", tensor_name(), found);
    }
  }

  std::string tensor_name() const { return in_quotes(header_.entries.back().name); }

  bool start_tensor(std::string name) {
    const bool is_metadata = name == kMetadataKey;
    if (!names_.insert(name).second) fail("the header has the key {} twice", in_quotes(name));
    if (is_metadata) return go(Place::metadata);
    header_.entries.emplace_back().name = std::move(name);
    dtype_.reset();
    shape_.reset();
    offsets_.reset();
    return go(Place::tensor);
  }

  bool start_field(const std::string& key) {
    const auto twice = [&] { fail("tensor {} has the key {} twice", tensor_name(), in_quotes(key)); };
    if (key == "dtype") return dtype_ ? (twice(), false) : go(Place::dtype);
    if (key == "shape") return shape_ ? (twice(), false) : (shape_.emplace(), go(Place::shape));
    if (key == "data_offsets") return offsets_ ? (twice(), false) : (offsets_.emplace(), go(Place::offsets));
    fail("tensor {} has the unknown key {}", tensor_name(), in_quotes(key));
  }

  bool add_dimension(std::uint64_t size) {
    if (shape_->size() == Shape::kMaxRank) {
      fail("tensor {} has more than {} dimensions", tensor_name(), Shape::kMaxRank);
    }
    if (size > std::numeric_limits<std::int64_t>::max())
      fail("tensor {} has a dimension of {}", tensor_name(), size);
    shape_->push_back(static_cast<std::int64_t>(size));
    return true;
  }

  void finish_tensor() {
    if (!dtype_) fail("tensor {} has no dtype", tensor_name());
    if (!shape_) fail("tensor {} has no shape", tensor_name());
    if (!offsets_) fail("tensor {} has no data_offsets", tensor_name());
    SafetensorsEntry& entry = header_.entries.back();
    entry.dtype = *dtype_;
    entry.begin = offsets_->front();
    entry.end = offsets_->back();
    if (entry.end < entry.begin)
      fail("tensor {} ends at {}, before it begins at {}", tensor_name(), entry.end, entry.begin);
    const std::uint64_t bytes = checked_bytes();
    entry.shape = Shape(*shape_);
    if (entry.end - entry.begin != bytes) {
      fail("tensor {} of shape {} and dtype {} needs {} bytes, but data_offsets [{}, {}] hold {}",
           tensor_name(), to_string(entry.shape), name_of(entry.dtype), bytes, entry.begin, entry.end,
           entry.end - entry.begin);
    }
  }

  std::uint64_t checked_bytes() const {
    const auto bytes = find_byte_size(*dtype_, *shape_);
    if (!bytes) fail("tensor {} of shape [{}] is too large", tensor_name(), fmt::join(*shape_, ","));
    return *bytes;
  }

  std::string_view file_;
  SafetensorsHeader& header_;
  Place place_ = Place::start;
  std::set<std::string> names_;
  std::set<std::string> metadata_keys_;
  std::string* value_ = nullptr;
  std::optional<DType> dtype_;
  std::optional<std::vector<std::int64_t>> shape_;
  std::optional<std::vector<std::uint64_t>> offsets_;
};

// The tensors lie back to back from the first byte of the buffer to its last.
void require_full_cover(std::vector<SafetensorsEntry>& entries, std::uint64_t buffer_bytes,
                        std::string_view file) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t position = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != position) {
      throw DataError("{}: tensor {} begins at byte {} of the buffer, which {} byte {}", file,
                      in_quotes(entry.name), entry.begin,
                      entry.begin < position ? "is used up to" : "leaves a hole from", position);
    }
    position = entry.end;
  }
  if (position != buffer_bytes) {
    throw DataError("{}: the tensors need {} bytes after the header, but the file has {}", file, position,
                    buffer_bytes);
  }
}

}  // namespace

std::size_t safetensors_header_bytes(std::span<const std::byte> start, std::uint64_t file_bytes,
                                     std::string_view file_name) {
  static_assert(std::endian::native == std::endian::little);
  if (start.size() < kSafetensorsLengthBytes) {
    throw DataError("{}: the file has {} bytes; a safetensors file begins with a length of 8 bytes",
                    file_name, file_bytes);
  }
  std::uint64_t length = 0;
  std::memcpy(&length, start.data(), kSafetensorsLengthBytes);
  if (length > std::min<std::uint64_t>(kMaxHeaderBytes, file_bytes - kSafetensorsLengthBytes)) {
    throw DataError("{}: the header claims {} bytes; at most {} are there and at most {} allowed", file_name,
                    length, file_bytes - kSafetensorsLengthBytes, kMaxHeaderBytes);
  }
  return static_cast<std::size_t>(kSafetensorsLengthBytes + length);
}

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> start, std::uint64_t file_bytes,
                                           std::string_view file_name) {
  SafetensorsHeader header;
  header.buffer_offset = safetensors_header_bytes(start, file_bytes, file_name);
  const auto* text = reinterpret_cast<const char*>(start.data());
  const std::string_view json(text + kSafetensorsLengthBytes, header.buffer_offset - kSafetensorsLengthBytes);
  if (!json.starts_with('{')) {
    throw DataError("{}: byte {} is not the '{{' that begins a safetensors header", file_name,
                    kSafetensorsLengthBytes);
  }
  HeaderReader reader(file_name, header);
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  require_full_cover(header.entries, file_bytes - header.buffer_offset, file_name);
  return header;
}

}  // namespace hocket
