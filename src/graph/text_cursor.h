#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "graph/attributes.h"
#include "graph/graph.h"

namespace hocket {

// Reads one line of a graph's text from left to right, skipping blanks. Every function throws ConfigError
// saying what was expected and what was found; the caller adds the file and the line. `batch` replaces N.
class TextCursor {
 public:
  TextCursor(std::string_view line, std::int64_t batch);

  bool at_end() const { return rest_.empty(); }
  bool at_name() const;
  bool take(char symbol);  // True, and moves on, when `symbol` stands here.
  void expect(char symbol);
  void expect_end() const;

  std::string_view name(std::string_view what);
  Type type();              // As in f32[N,1,28,28].
  Attributes attributes();  // As in padding=1 act=relu, to the end of the line.

 private:
  std::string_view word(std::string_view characters);
  std::int64_t size();  // 12, -1, N, N+1, 14*N
  std::int64_t multiple(std::int64_t factor);
  Attribute attribute(std::string_view key);
  [[noreturn]] void fail(std::string_view expected) const;
  void skip_blanks();

  std::string_view rest_;
  std::int64_t batch_;
};

}  // namespace hocket
