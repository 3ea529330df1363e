#pragma once

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "data/libsvm.h"

namespace hocket {

// Mean logistic loss over sparse rows with labels -1 and 1, and half the squared norm over the samples: what
// liblinear minimises at C = 1, divided by their number. In parts that add up, for tests.
class TestLogistic {
 public:
  explicit TestLogistic(SparseRows rows) : rows_(std::move(rows)), features_(rows_.features()) {}

  std::int64_t features() const { return features_; }
  std::int64_t samples() const { return rows_.size(); }

  // The value and gradient of portion `portion` of `portions`.
  double evaluate(std::span<const double> w, int portion, int portions, std::span<double> gradient) const {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    const auto n = static_cast<double>(samples());
    double value = 0;
    for (std::int64_t i = samples() * portion / portions; i < samples() * (portion + 1) / portions; ++i) {
      value += add_row(w, i, gradient) / n;
    }
    const double penalty = 1 / (n * portions);
    for (std::size_t i = 0; i < w.size(); ++i) {
      value += penalty * w[i] * w[i] / 2;
      gradient[i] += penalty * w[i];
    }
    return value;
  }

  // Of the whole, added up as servers add up portions.
  double evaluate_all(std::span<const double> w, int portions, std::span<double> gradient) const {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    std::vector<double> part(gradient.size());
    double value = 0;
    for (int portion = 0; portion < portions; ++portion) {
      value += evaluate(w, portion, portions, part);
      for (std::size_t i = 0; i < part.size(); ++i) gradient[i] += part[i];
    }
    return value;
  }

 private:
  double add_row(std::span<const double> w, std::int64_t row, std::span<double> gradient) const {
    const auto begin = static_cast<std::size_t>(rows_.offsets[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(rows_.offsets[static_cast<std::size_t>(row) + 1]);
    const double label = rows_.labels[static_cast<std::size_t>(row)] > 0 ? 1 : -1;
    double margin = 0;
    for (std::size_t k = begin; k < end; ++k) margin += weight_at(w, k) * value_at(k);
    margin *= label;
    const double slope = -label / (1 + std::exp(margin)) / static_cast<double>(samples());
    for (std::size_t k = begin; k < end; ++k) {
      gradient[static_cast<std::size_t>(rows_.columns[k])] += slope * value_at(k);
    }
    return margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
  }

  double weight_at(std::span<const double> w, std::size_t k) const {
    return w[static_cast<std::size_t>(rows_.columns[k])];
  }
  double value_at(std::size_t k) const {
    return rows_.values.empty() ? 1.0 : static_cast<double>(rows_.values[k]);
  }

  SparseRows rows_;
  std::int64_t features_;
};

inline TestLogistic generated_logistic(std::int64_t samples, std::int32_t features, std::uint64_t seed) {
  Rng rng({seed});
  SparseRows rows;
  for (std::int64_t i = 0; i < samples; ++i) {
    double margin = 0;
    for (std::int32_t column = 0; column < features; ++column) {
      if (rng.uniform() < 0.5 && column + 1 < features) continue;
      const double value = rng.normal();
      margin += value * std::sin(column);
      rows.columns.push_back(column);
      rows.values.push_back(static_cast<float>(value));
    }
    rows.offsets.push_back(static_cast<std::int64_t>(rows.columns.size()));
    rows.labels.push_back(margin + rng.normal() > 0 ? 1.0F : -1.0F);
  }
  return TestLogistic(std::move(rows));
}

// a9a, where HOCKET_TEST_DATA has it.
inline std::optional<TestLogistic> a9a_logistic() {
  const char* folder = std::getenv("HOCKET_TEST_DATA");
  if (folder == nullptr) return std::nullopt;
  const std::filesystem::path path = std::filesystem::path(folder) / "sparse" / "a9a";
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  return TestLogistic(parse_libsvm(path.string(), text.str()));
}

}  // namespace hocket
