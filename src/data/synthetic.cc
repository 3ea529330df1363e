#include "data/synthetic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "base/rng.h"
#include "data/synthetic_images.h"
#include "data/table_dataset.h"
#include "data/text_dataset.h"

namespace hocket {
namespace {

constexpr std::int64_t kMaxSamples = std::int64_t{1} << 40;

struct Sizes {
  std::int64_t train;
  std::int64_t test;
};

// With the option `samples`, a fifth as many for testing.
Sizes sizes_of(const DataSource& source, Sizes usual, std::int64_t limit = std::int64_t{1} << 26) {
  const std::int64_t train = source.integer("samples", 0, 1, limit);
  return train == 0 ? usual : Sizes{train, std::max<std::int64_t>(1, train / 5)};
}

std::uint64_t seed_of(const DataSource& source) {
  return static_cast<std::uint64_t>(source.integer("seed", 0, 0, std::int64_t{1} << 62));
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// A number in [0, count) of which the small ones are far more frequent, by a power of a uniform one.
std::uint64_t skewed(Rng& rng, std::uint64_t count, std::int64_t power = 3) {
  const double u = rng.uniform();
  double product = u;
  for (std::int64_t i = 1; i < power; ++i) product *= u;
  return static_cast<std::uint64_t>(product * static_cast<double>(count));
}

LabelMap binary_labels() {
  constexpr float kBoth[] = {0, 1};
  return {"synthetic", kBoth, Task::binary};
}

// ---- images ----

struct ImageKind {
  std::string_view name;
  Shape shape;
  std::int64_t classes;
  Sizes sizes;
};

// C x H x W : classes [: samples]
std::optional<ImageKind> parse_shape(std::string_view text) {
  std::int64_t numbers[5] = {0, 0, 0, 0, 4096};
  constexpr std::string_view kBefore = " xx::";
  const char* at = text.data();
  const char* end = text.data() + text.size();
  for (std::size_t i = 0; i < 5 && at < end; ++i) {
    if (i > 0 && *at++ != kBefore[i]) return std::nullopt;
    const auto [stop, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc{}) return std::nullopt;
    at = stop;
  }
  const auto [channels, height, width, classes, samples] = numbers;
  const auto is_size = [](std::int64_t n) { return n >= 1 && n <= 1 << 12; };
  if (at != end || !is_size(channels) || !is_size(height) || !is_size(width) || classes < 2 ||
      classes > 1 << 16 || samples < 1 || samples > kMaxSamples) {
    return std::nullopt;
  }
  return ImageKind{
      "images", {channels, height, width}, classes, {samples, std::max<std::int64_t>(1, samples / 5)}};
}

DataParts make_images(const DataSource& source, const ImageKind& kind) {
  const Sizes sizes = sizes_of(source, kind.sizes, kMaxSamples);
  const std::string name = "synthetic:" + source.location;
  const std::uint64_t seed = seed_of(source);
  DataParts parts;
  parts.train = std::make_unique<SyntheticImages>(
      name, SyntheticImageOptions{kind.shape, kind.classes, sizes.train, seed, 0});
  parts.test = std::make_unique<SyntheticImages>(
      name, SyntheticImageOptions{kind.shape, kind.classes, sizes.test, seed, 1});
  return parts;
}

// ---- text ----

// Letters where the two before decide which four may follow, the first of them most often.
std::unique_ptr<const Dataset> make_text(const DataSource& source, std::int64_t samples, std::uint64_t part) {
  const std::int64_t context = source.integer("context", 128, 1, 1 << 20);
  const std::uint64_t seed = seed_of(source);
  const auto text = std::make_shared<std::vector<std::byte>>();
  text->reserve(static_cast<std::size_t>(samples * context + 1));
  Rng rng{seed, 0x74657874, part};
  std::uint64_t before = 0;
  std::uint64_t last = 0;
  for (std::int64_t i = 0; i <= samples * context; ++i) {
    const std::uint64_t choice = skewed(rng, 4);
    const std::uint64_t letter = Rng{seed, before, last, choice}.below(26);
    text->push_back(static_cast<std::byte>('a' + letter));
    before = std::exchange(last, letter);
  }
  return std::make_unique<TextDataset>("synthetic:text", *text, text, context, false);
}

DataParts open_text_kind(const DataSource& source) {
  const Sizes sizes = sizes_of(source, {8192, 1024}, 1 << 20);
  return {make_text(source, sizes.train, 0), make_text(source, sizes.test, 1)};
}

// ---- sparse rows ----

struct RowShape {
  std::int64_t features;
  std::int64_t nonzeros;
  std::int64_t skew;
};

SparseRows make_rows(std::uint64_t seed, std::uint64_t part, std::int64_t size, const RowShape& shape) {
  SparseRows rows;
  std::vector<std::int32_t> columns;
  for (std::int64_t i = 0; i < size; ++i) {
    Rng rng{seed, 0x726f7773, part, static_cast<std::uint64_t>(i)};
    columns.clear();
    for (std::int64_t k = 0; k < shape.nonzeros; ++k) {
      const auto features = static_cast<std::uint64_t>(shape.features);
      columns.push_back(static_cast<std::int32_t>(skewed(rng, features, shape.skew)));
    }
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    double score = 0;
    for (const std::int32_t column : columns)
      score += Rng{seed, 0x77, static_cast<std::uint64_t>(column)}.normal();
    rows.labels.push_back(rng.uniform() < sigmoid(2 * score) ? 1.0F : 0.0F);
    rows.columns.insert(rows.columns.end(), columns.begin(), columns.end());
    rows.offsets.push_back(static_cast<std::int64_t>(rows.columns.size()));
  }
  return rows;
}

DataParts open_sparse_kind(const DataSource& source) {
  const Sizes sizes = sizes_of(source, {32768, 8192});
  const RowShape shape{source.integer("features", 10000, 1, std::int64_t{1} << 30),
                       source.integer("nonzeros", 32, 1, 1 << 16), source.integer("skew", 3, 1, 64)};
  const LabelMap labels = binary_labels();
  DataParts parts;
  const auto make = [&](std::uint64_t part, std::int64_t size) {
    return std::make_unique<SparseDataset>("synthetic:sparse", make_rows(seed_of(source), part, size, shape),
                                           labels, shape.features, shape.nonzeros);
  };
  parts.train = make(0, sizes.train);
  parts.test = make(1, sizes.test);
  return parts;
}

// ---- click logs ----

constexpr std::int64_t kNumeric = 13;
constexpr std::int64_t kCategorical = 26;
constexpr std::uint64_t kValues = 100;  // Distinct values of a categorical column.

// The rule is linear in numbers and categories, plus one product of two columns that only a model of pairs
// can learn.
Table make_clicks(std::uint64_t seed, std::uint64_t part, std::int64_t size, std::int64_t buckets) {
  Table table;
  for (std::int64_t i = 0; i < size; ++i) {
    Rng rng{seed, 0x637472, part, static_cast<std::uint64_t>(i)};
    double score = -1;
    for (std::uint64_t k = 0; k < kNumeric; ++k) {
      table.numeric.push_back(static_cast<float>(rng.normal()));
      score += 0.3 * Rng{seed, 0x6e, k}.normal() * table.numeric.back();
    }
    double product = 1;
    for (std::uint64_t k = 0; k < kCategorical; ++k) {
      Rng meaning{seed, 0x63, k, skewed(rng, kValues)};
      score += 0.3 * meaning.normal();
      if (k < 2) product *= meaning.normal();
      table.category.push_back(static_cast<std::int32_t>(meaning.below(static_cast<std::uint64_t>(buckets))));
    }
    table.labels.push_back(rng.uniform() < sigmoid(score + product) ? 1.0F : 0.0F);
  }
  return table;
}

DataParts open_clicks_kind(const DataSource& source) {
  const Sizes sizes = sizes_of(source, {32768, 8192});
  const TableShape shape{kNumeric, kCategorical,
                         source.integer("buckets", 1 << 16, 1, std::int64_t{1} << 30)};
  DataParts parts;
  parts.train = std::make_unique<TableDataset>("synthetic:ctr",
                                               make_clicks(seed_of(source), 0, sizes.train, shape.buckets),
                                               shape, binary_labels(), std::vector<std::string>{});
  parts.test = std::make_unique<TableDataset>("synthetic:ctr",
                                              make_clicks(seed_of(source), 1, sizes.test, shape.buckets),
                                              shape, binary_labels(), std::vector<std::string>{});
  return parts;
}

}  // namespace

DataParts open_synthetic(const DataSource& source) {
  const ImageKind kinds[] = {{"mnist", {1, 28, 28}, 10, {60000, 10000}},
                             {"cifar10", {3, 32, 32}, 10, {50000, 10000}},
                             {"imagenet", {3, 224, 224}, 1000, {1281167, 50000}}};
  const std::string& shape = source.location;
  for (const ImageKind& kind : kinds) {
    if (shape == kind.name) return make_images(source, kind);
  }
  if (shape == "text") return open_text_kind(source);
  if (shape == "sparse") return open_sparse_kind(source);
  if (shape == "ctr") return open_clicks_kind(source);
  if (const auto kind = parse_shape(shape)) return make_images(source, *kind);
  constexpr std::string_view kNames[] = {"mnist", "cifar10", "imagenet", "text", "sparse", "ctr"};
  throw ConfigError("data '{}': expected {} or CxHxW:classes[:samples]{}", source.text,
                    fmt::join(kNames, ", "), did_you_mean(shape, kNames));
}

}  // namespace hocket
