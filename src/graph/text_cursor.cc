#include "graph/text_cursor.h"

#include <charconv>
#include <optional>

#include "base/error.h"
#include "graph/operators/operands.h"

namespace hocket {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kNameStart = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.:/-";
constexpr std::string_view kNumberCharacters = "0123456789.eE+-";
constexpr std::size_t kMaxName = 200;
constexpr std::size_t kMaxAttributes = 32;
constexpr std::size_t kMaxListEntries = 64;

bool is_one_of(char c, std::string_view characters) { return characters.find(c) != std::string_view::npos; }

// The number that `text` is, or nothing when it is more, less or other than that.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

TextCursor::TextCursor(std::string_view line, std::int64_t batch)
    : rest_(line.substr(0, line.find('#'))), batch_(batch) {
  skip_blanks();
}

void TextCursor::skip_blanks() {
  const std::size_t blanks = rest_.find_first_not_of(kBlanks);
  rest_.remove_prefix(blanks == std::string_view::npos ? rest_.size() : blanks);
}

void TextCursor::fail(std::string_view expected) const {
  if (rest_.empty()) throw ConfigError("expected {}, found the end of the line", expected);
  std::string found(rest_.substr(0, 24));
  for (char& c : found) {
    if (c < ' ' || c > '~') c = '?';
  }
  throw ConfigError("expected {}, found '{}'", expected, found);
}

bool TextCursor::at_name() const { return !rest_.empty() && is_one_of(rest_.front(), kNameStart); }

bool TextCursor::take(char symbol) {
  if (rest_.empty() || rest_.front() != symbol) return false;
  rest_.remove_prefix(1);
  skip_blanks();
  return true;
}

void TextCursor::expect(char symbol) {
  if (!take(symbol)) fail(std::string("'") + symbol + "'");
}

void TextCursor::expect_end() const {
  if (!at_end()) fail("the end of the line");
}

std::string_view TextCursor::word(std::string_view characters) {
  const std::string_view result = rest_.substr(0, rest_.find_first_not_of(characters));
  rest_.remove_prefix(result.size());
  skip_blanks();
  return result;
}

std::string_view TextCursor::name(std::string_view what) {
  if (!at_name()) fail(what);
  const std::string_view result = word(kNameCharacters);
  if (result.size() > kMaxName) {
    throw ConfigError("a name has {} characters, at most {} are allowed", result.size(), kMaxName);
  }
  return result;
}

Type TextCursor::type() {
  constexpr std::string_view kType = "a type such as f32[N,10]";
  const std::string_view element = name(kType);
  const std::optional<DType> dtype = find_dtype(element);
  if (!dtype) throw ConfigError("expected {}, found '{}'", kType, element);
  expect('[');
  IntList dims;
  if (!take(']')) {
    do {
      if (dims.size() == Shape::kMaxRank) {
        throw ConfigError("a shape has at most {} dimensions", Shape::kMaxRank);
      }
      dims.push_back(size());
    } while (take(','));
    expect(']');
  }
  return make_type(*dtype, Shape(dims));
}

std::int64_t TextCursor::size() {
  if (take('N')) {
    if (!take('+')) return batch_;
    expect('1');
    return batch_ + 1;
  }
  const std::string_view digits = word(kNumberCharacters);
  if (digits.empty()) fail("a whole number or N");
  const std::optional<std::int64_t> number = parse_number<std::int64_t>(digits);
  if (!number) throw ConfigError("expected a whole number or N, found '{}'", digits);
  return take('*') ? multiple(*number) : *number;
}

std::int64_t TextCursor::multiple(std::int64_t factor) {
  expect('N');
  if (factor < 1 || factor > kMaxElements / batch_) throw ConfigError("{}*N is no size of a tensor", factor);
  return factor * batch_;
}

Attributes TextCursor::attributes() {
  Attributes result;
  while (!at_end()) {
    const std::string_view key = name("an attribute such as padding=1");
    expect('=');
    if (result.has(key)) throw ConfigError("attribute {} is given twice", key);
    if (result.entries().size() == kMaxAttributes) {
      throw ConfigError("more than {} attributes", kMaxAttributes);
    }
    result.set(key, attribute(key));
  }
  return result;
}

Attribute TextCursor::attribute(std::string_view key) {
  if (at_name()) return std::string(name("a word"));
  if (take('[')) {
    IntList list;
    while (!take(']')) {
      if (!list.empty()) expect(',');
      if (list.size() == kMaxListEntries) {
        throw ConfigError("attribute {} has more than {} entries", key, kMaxListEntries);
      }
      list.push_back(size());
    }
    return list;
  }
  const std::string_view digits = word(kNumberCharacters);
  if (digits.empty()) fail(fmt::format("a number, a word or a list for {}", key));
  if (const auto integer = parse_number<std::int64_t>(digits)) return *integer;
  if (const auto real = parse_number<double>(digits)) return *real;
  throw ConfigError("{}={} is not a number in range", key, digits);
}

}  // namespace hocket
