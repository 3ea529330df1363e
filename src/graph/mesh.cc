#include "graph/mesh.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "base/nearest.h"

namespace hocket {
namespace {

// In the order of the grid: what talks most comes last.
constexpr std::array<std::string_view, 3> kAxes{"pp", "dp", "tp"};
constexpr std::size_t kDp = 1;

int size_in(std::string_view text, std::string_view item) {
  int size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size < 1 || size > kMostRanks) {
    throw ConfigError("mesh: {} does not say a number of ranks from 1 to {}", item, kMostRanks);
  }
  return size;
}

}  // namespace

Mesh Mesh::parse(std::string_view text, int workers) {
  std::array<int, kAxes.size()> sizes{};
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    const auto at = std::find(kAxes.begin(), kAxes.end(), name);
    if (equals == std::string_view::npos || at == kAxes.end()) {
      throw ConfigError("mesh: {} is not an axis with a size such as dp=2, tp=2 or pp=2{}", item,
                        did_you_mean(name, kAxes));
    }
    int& size = sizes[static_cast<std::size_t>(at - kAxes.begin())];
    if (size != 0) throw ConfigError("mesh: axis {} is given twice", name);
    size = size_in(item.substr(equals + 1), item);
  }
  std::int64_t given = 1;
  for (const int size : sizes) given = std::min<std::int64_t>(given * std::max(size, 1), kMostRanks + 1);
  if (given > kMostRanks) throw ConfigError("mesh: more than {} ranks", kMostRanks);
  if (sizes[kDp] == 0) {
    if (workers % given != 0) {
      throw ConfigError("mesh: {} workers cannot be cut into groups of {}", workers, given);
    }
    sizes[kDp] = std::max(1, workers / static_cast<int>(given));
    given *= sizes[kDp];
  }
  if (workers > 0 && given != workers) {
    throw ConfigError("mesh: its axes make {} ranks, but there are {} workers", given, workers);
  }
  Mesh mesh;
  for (std::size_t i = 0; i < kAxes.size(); ++i) {
    if (sizes[i] > 1) mesh.axes_.push_back({std::string(kAxes[i]), sizes[i]});
  }
  return mesh;
}

int Mesh::size() const {
  int product = 1;
  for (const Axis& axis : axes_) product *= axis.size;
  return product;
}

int Mesh::size_of(std::string_view axis) const {
  for (const Axis& own : axes_) {
    if (own.name == axis) return own.size;
  }
  return 1;
}

Mesh Mesh::without(std::string_view axis) const {
  std::vector<Axis> others;
  for (const Axis& own : axes_) {
    if (own.name != axis) others.push_back(own);
  }
  return Mesh(others);
}

int Mesh::rank_without(int rank, std::string_view axis) const {
  const Mesh others = without(axis);
  int result = 0;
  for (const Axis& own : others.axes()) result = result * own.size + share(rank, own.name).index;
  return result;
}

int Mesh::stride_of(std::string_view axis) const {
  int stride = 1;
  for (auto at = axes_.rbegin(); at != axes_.rend() && at->name != axis; ++at) stride *= at->size;
  return stride;
}

AxisShare Mesh::share(int rank, std::string_view axis) const {
  const int size = size_of(axis);
  return {rank / stride_of(axis) % size, size};
}

std::vector<int> Mesh::members(int rank, std::string_view axis) const {
  const AxisShare own = share(rank, axis);
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(own.count));
  for (int i = 0; i < own.count; ++i) ranks.push_back(rank + (i - own.index) * stride_of(axis));
  return ranks;
}

std::string Mesh::text() const {
  std::string text;
  for (const Axis& axis : axes_) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  }
  return text.empty() ? "dp=1" : text;
}

}  // namespace hocket
