#include "data/open.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "data/cifar.h"
#include "data/image_folder.h"
#include "data/libsvm.h"
#include "data/mnist.h"
#include "data/synthetic.h"
#include "data/table_dataset.h"
#include "data/text_dataset.h"

namespace hocket {
namespace {

// A kind whose files bring their own test part opens one source; a kind whose test file is read by the rules
// of the training file opens both at once.
struct Opener {
  std::string_view kind;
  DataParts (*open)(const DataSource& source);
  DataParts (*open_pair)(const DataSource& source, const DataSource* test);
};

constexpr Opener kOpeners[] = {
    {"fashion-mnist", open_fashion_mnist, nullptr},
    {"mnist", open_mnist, nullptr},
    {"cifar10", open_cifar10, nullptr},
    {"image-folder", open_image_folder, nullptr},
    {"synthetic", open_synthetic, nullptr},
    {"text", nullptr, open_text},
    {"libsvm", nullptr, open_libsvm},
    {"csv", nullptr, open_csv},
};

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

const Opener& find_opener(const DataSource& source) {
  const auto* found = std::find_if(std::begin(kOpeners), std::end(kOpeners),
                                   [&](const Opener& opener) { return opener.kind == source.kind; });
  HOCKET_CHECK(found != std::end(kOpeners), "no reader for {}", source.kind);
  return *found;
}

std::string describe_fields(const DataInfo& info) {
  std::string text = fmt::format("{} with {} classes:", name_of(info.task), info.classes);
  for (const Field& field : info.fields)
    text += fmt::format(" {} {}{}", field.name, name_of(field.dtype), to_string(field.shape));
  return text;
}

void check_same_fields(const DataParts& parts, const DataSpec& spec) {
  const std::string train = describe_fields(parts.train->info());
  const std::string test = describe_fields(parts.test->info());
  if (train != test)
    throw ConfigError("data '{}' is {}; test data '{}' is {}", spec.data, train, spec.test_data, test);
}

}  // namespace

std::span<const DataKind> data_kinds() {
  static const std::vector<DataKind> kinds{
      {"fashion-mnist", "fashion-mnist", "70,000 grey 28x28 images of clothes in 10 classes", {}},
      {"mnist", "mnist:DIR", "images as IDX files, plain or gzip, under MNIST's names", {"classes"}},
      {"cifar10", "cifar10:DIR", "the binary batches of CIFAR-10", {}},
      {"image-folder", "image-folder:DIR", "PNG and JPEG files, one folder per class", {"size", "channels"}},
      {"text", "text:FILE", "bytes as symbols; the last 10 % are held out", {"context", "holdout"}},
      {"libsvm", "libsvm:FILE", "sparse rows as LIBSVM text", {"task", "features"}},
      {"csv",
       "csv:FILE",
       "a table of numeric and categorical columns",
       {"label", "header", "separator", "skip", "numeric", "categorical", "ignore", "buckets", "task",
        "layout"}},
      {"synthetic",
       "synthetic:SHAPE",
       "made-up data: mnist, cifar10, imagenet, text, sparse, ctr or CxHxW:classes[:samples]",
       {"samples", "seed", "context", "features", "nonzeros", "skew", "buckets"}},
  };
  return kinds;
}

DataParts open_dataset(const DataSpec& spec) {
  const DataSource source = checked_source(spec.data);
  const Opener& opener = find_opener(source);
  std::optional<DataSource> test;
  if (!spec.test_data.empty()) test = checked_source(spec.test_data);
  if (opener.open_pair != nullptr) {
    if (test && test->kind != source.kind) {
      throw ConfigError("test data '{}': expected {}, like the training data", spec.test_data, source.kind);
    }
    return opener.open_pair(source, test ? &*test : nullptr);
  }
  DataParts parts = opener.open(source);
  if (!test) return parts;
  if (find_opener(*test).open == nullptr) {
    throw ConfigError("test data '{}': expected a kind like {}", spec.test_data, source.kind);
  }
  DataParts other = find_opener(*test).open(*test);
  parts.test = std::move(other.test != nullptr ? other.test : other.train);
  check_same_fields(parts, spec);
  return parts;
}

}  // namespace hocket
