#include "data/open.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "data/mnist.h"

namespace hocket {
namespace {

struct Opener {
  std::string_view kind;
  DataParts (*open)(const DataSource& source);
};

constexpr Opener kOpeners[] = {{"fashion-mnist", open_fashion_mnist}, {"mnist", open_mnist}};

const DataKind& find_kind(const DataSource& source) {
  std::vector<std::string_view> names;
  for (const DataKind& kind : data_kinds()) {
    if (kind.name == source.kind) return kind;
    names.push_back(kind.name);
  }
  const std::string hint = did_you_mean(source.kind, names);
  throw ConfigError("unknown data '{}'{}", source.kind,
                    hint.empty() ? fmt::format("; expected one of {}", fmt::join(names, ", ")) : hint);
}

std::string known_options(const DataKind& kind) {
  if (kind.options.empty()) return fmt::format("; {} has no options", kind.name);
  return fmt::format("; the options of {} are {}", kind.name, fmt::join(kind.options, ", "));
}

// A source whose kind and options are known.
DataSource checked_source(const std::string& text) {
  DataSource source = parse_source(text);
  const DataKind& kind = find_kind(source);
  for (const auto& [key, value] : source.options) {
    if (std::find(kind.options.begin(), kind.options.end(), key) != kind.options.end()) continue;
    const std::string hint = did_you_mean(key, kind.options);
    throw ConfigError("data '{}': unknown option '{}'{}", text, key,
                      hint.empty() ? known_options(kind) : hint);
  }
  const bool needs_location = kind.usage.find(':') != std::string_view::npos;
  if (needs_location && source.location.empty())
    throw ConfigError("data '{}': expected {}", text, kind.usage);
  if (!needs_location && !source.location.empty()) {
    throw ConfigError("data '{}': expected {} alone, found ':{}'", text, kind.usage, source.location);
  }
  return source;
}

DataParts open_source(const DataSource& source) {
  for (const Opener& opener : kOpeners) {
    if (opener.kind == source.kind) return opener.open(source);
  }
  HOCKET_CHECK(false, "no reader for {}", source.kind);
  return {};
}

}  // namespace

std::span<const DataKind> data_kinds() {
  static const std::vector<DataKind> kinds{
      {"fashion-mnist", "fashion-mnist", "70,000 grey 28x28 images of clothes in 10 classes", {}},
      {"mnist", "mnist:DIR", "images as IDX files, plain or gzip, under MNIST's names", {"classes"}},
  };
  return kinds;
}

DataParts open_dataset(const DataSpec& spec) {
  DataParts parts = open_source(checked_source(spec.data));
  if (!spec.test_data.empty()) {
    DataParts other = open_source(checked_source(spec.test_data));
    parts.test = std::move(other.test != nullptr ? other.test : other.train);
  }
  return parts;
}

}  // namespace hocket
