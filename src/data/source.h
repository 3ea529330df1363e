#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "data/dataset.h"

namespace hocket {

// A data source as the user types it: KIND[:LOCATION][,key=value…], as in "text:book.txt,context=128".
// A comma that no `key=` follows belongs to the location.
struct DataSource {
  std::string text;
  std::string kind;
  std::string location;
  std::map<std::string, std::string, std::less<>> options;

  // The value of an option, or `fallback`; throw ConfigError when it is not such a value.
  std::string option(std::string_view key, std::string_view fallback) const;
  std::int64_t integer(std::string_view key, std::int64_t fallback, std::int64_t low,
                       std::int64_t high) const;
  bool flag(std::string_view key, bool fallback) const;
};

DataSource parse_source(std::string_view text);

// The parts of one data set; `test` is null where there is none.
struct DataParts {
  std::unique_ptr<const Dataset> train;
  std::unique_ptr<const Dataset> test;
};

}  // namespace hocket
