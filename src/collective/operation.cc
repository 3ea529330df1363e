#include "collective/operation.h"

#include <fmt/format.h>

#include <numeric>

namespace hocket {

namespace {

constexpr unsigned byte_of(std::uint64_t word, int index) { return (word >> (8 * index)) & 0xff; }

// A name from the wire: any byte may come.
template <typename Enum>
std::string name_or_number(unsigned value, unsigned names) {
  return value < names ? std::string(name_of(static_cast<Enum>(value))) : fmt::format("?{}", value);
}

// The same on every rank: in an uneven all-to-all each rank receives a number of elements of its own.
std::size_t common_count(const Operation& operation) {
  if (operation.collective != Collective::all_to_all || operation.blocks.empty()) return operation.count;
  return std::accumulate(operation.blocks.begin(), operation.blocks.end(), std::size_t{0});
}

}  // namespace

Fold fold_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::product: return Fold::product;
    case Reduction::max: return Fold::max;
    case Reduction::min: return Fold::min;
    case Reduction::sum:
    case Reduction::mean: break;
  }
  return Fold::sum;
}

Label label_of(const Operation& operation, unsigned group, unsigned sequence, unsigned round,
               unsigned rounds) {
  const auto word = [](auto value, int shift) { return static_cast<std::uint64_t>(value) << shift; };
  const auto root = has_root(operation.collective) ? static_cast<std::uint32_t>(operation.root) : 0U;
  const auto reduction = reduces(operation.collective) ? operation.reduction : Reduction::sum;
  return {{word(group, 32) | sequence,
           word(operation.collective, 0) | word(operation.algorithm, 8) | word(reduction, 16) |
               word(operation.dtype, 24) | word(root, 32),
           common_count(operation), word(round, 32) | rounds}};
}

std::string text_of(const Label& label) {
  const std::uint64_t what = label.words[1];
  const unsigned collective = byte_of(what, 0);
  const bool known = collective <= static_cast<unsigned>(Collective::barrier);
  const auto as_collective = static_cast<Collective>(collective);
  std::string text = fmt::format("{} #{} of group {}, {} {}", name_or_number<Collective>(collective, 9),
                                 label.words[0] & 0xffffffff, label.words[0] >> 32, label.words[2],
                                 name_or_number<DType>(byte_of(what, 3), 7));
  if (known && reduces(as_collective)) text += ", " + name_or_number<Reduction>(byte_of(what, 2), 5);
  if (known && has_root(as_collective)) text += fmt::format(", root {}", what >> 32);
  text += ", " + name_or_number<Algorithm>(byte_of(what, 1), 16);
  const auto rounds = label.words[3] & 0xffffffff;
  if (rounds > 0) text += fmt::format(", round {} of {}", (label.words[3] >> 32) + 1, rounds);
  return text;
}

}  // namespace hocket
