#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket {

// A name with sizes or settings, as users type it: "resnet,depth=20" or "step,at=30x60".
struct Spec {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;

  // `what` names the kind of thing in the ConfigError that a malformed text throws: "model", "schedule".
  static Spec parse(std::string_view what, std::string_view text);
  std::string text() const;
};

// The options of a Spec over their defaults. An option without a default, or a value that is not of the kind
// asked for, throws ConfigError.
class SpecOptions {
 public:
  using Defaults = std::vector<std::pair<std::string, std::string>>;

  SpecOptions(std::string_view what, const Spec& spec, Defaults defaults);

  std::string text(std::string_view key) const;
  double real(std::string_view key) const;                     // From 0 on.
  std::int64_t integer(std::string_view key) const;            // From 0 on, at most 2²⁴.
  std::vector<std::int64_t> list(std::string_view key) const;  // Several of them, as in 512x512.

 private:
  std::string who_;
  Defaults values_;
};

}  // namespace hocket
