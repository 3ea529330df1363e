#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace hocket {

enum class Verdict { good, note, bad };

// What `hocket doctor` looked at, and what it found. `figures` are the same as numbers.
struct Finding {
  std::string what;
  Verdict verdict = Verdict::good;
  std::string text;
  nlohmann::ordered_json figures;
};

}  // namespace hocket
