#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "collective/blocks.h"
#include "collective/group.h"

namespace hocket {

// For tests: collectives of every kind with what each rank puts in and what must come out.

// Element i of what rank r puts in: small, so that every dtype holds every result exactly.
inline double term(Rank rank, std::size_t i) {
  return static_cast<double>((i * 5 + static_cast<std::size_t>(rank) * 3) % 3 + 1);
}

inline double folded(Reduction reduction, int world, std::size_t i) {
  double value = term(0, i);
  for (Rank rank = 1; rank < world; ++rank) {
    const double next = term(rank, i);
    switch (reduction) {
      case Reduction::product: value *= next; break;
      case Reduction::max: value = std::max(value, next); break;
      case Reduction::min: value = std::min(value, next); break;
      default: value += next;
    }
  }
  return reduction == Reduction::mean ? value / world : value;
}

// What a test stores: the value as the dtype holds it.
template <typename T>
T stored(double value) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

struct Case {
  Call call;
  DType dtype = DType::f32;
  Reduction reduction = Reduction::sum;
  bool in_arena = true;
};

inline std::string text_of(const Case& c) {
  return fmt::format("{} by {}, {} ranks, {} {}, {}, root {}{}", name_of(c.call.collective),
                     name_of(c.call.algorithm), c.call.world, c.call.count, name_of(c.dtype),
                     name_of(c.reduction), c.call.root, c.in_arena ? "" : ", private memory");
}

inline bool puts_all_in(const Call& call, Rank me) {
  switch (call.collective) {
    case Collective::broadcast:
    case Collective::scatter: return me == call.root;
    case Collective::gather:
    case Collective::all_gather: return false;
    default: return true;
  }
}

// What element i of rank `me` must be afterwards, or nothing where it is undefined.
inline std::optional<double> expected(const Case& c, Rank me, std::size_t i) {
  const Call& call = c.call;
  const Blocks blocks = data_blocks(call, me);
  const auto is_in = [&](Rank block) { return i >= blocks[block].offset && i < blocks[block].end(); };
  const auto owner = [&] {
    Rank rank = 0;
    while (!is_in(rank)) ++rank;
    return rank;
  };
  switch (call.collective) {
    case Collective::broadcast: return term(call.root, i);
    case Collective::all_reduce: return folded(c.reduction, call.world, i);
    case Collective::reduce:
      return me == call.root ? std::optional(folded(c.reduction, call.world, i)) : std::nullopt;
    case Collective::reduce_scatter:
      return is_in(me) ? std::optional(folded(c.reduction, call.world, i)) : std::nullopt;
    case Collective::gather: return me == call.root ? std::optional(term(owner(), i)) : std::nullopt;
    case Collective::all_gather: return term(owner(), i);
    case Collective::scatter: return is_in(me) ? std::optional(term(call.root, i)) : std::nullopt;
    case Collective::all_to_all: {
      const Rank from = owner();
      return term(from, input_blocks(call, from)[me].offset + i - blocks[from].offset);
    }
    case Collective::barrier: break;
  }
  return std::nullopt;
}

template <typename T>
void run_case(Group& group, const Case& c) {
  const Call& call = c.call;
  const Rank me = group.rank();
  std::vector<T> own(call.count);
  const auto arena = group.allocate(call.count * sizeof(T));
  const std::span<T> data =
      c.in_arena ? std::span(reinterpret_cast<T*>(arena.data()), call.count) : std::span(own);
  const Range block = data_blocks(call, me)[me];
  for (std::size_t i = 0; i < call.count; ++i) {
    const bool mine = puts_all_in(call, me) || (i >= block.offset && i < block.end());
    data[i] = stored<T>(mine ? term(me, i) : 99);
  }
  std::vector<T> input(call.collective == Collective::all_to_all ? input_blocks(call, me).count() : 0);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = stored<T>(term(me, i));

  group.run({call.collective, call.algorithm, c.reduction, c.dtype, call.root,
             reinterpret_cast<std::byte*>(data.data()), reinterpret_cast<const std::byte*>(input.data()),
             call.count, call.blocks});
  for (std::size_t i = 0; i < call.count; ++i) {
    const auto value = expected(c, me, i);
    if (!value) continue;
    const T want = stored<T>(*value);
    if (std::memcmp(&data[i], &want, sizeof(T)) != 0) {
      throw Error("{}: element {} of rank {} is {}, expected {}", text_of(c), i, me,
                  static_cast<double>(static_cast<float>(data[i])), *value);
    }
  }
}

inline void run_case(Group& group, const Case& c) {
  visit_dtype(c.dtype, [&]<typename T>(T) { run_case<T>(group, c); });
}

inline std::vector<Case> sample_of_cases(int world) {
  const DType dtypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8};
  const Reduction reductions[] = {Reduction::sum, Reduction::product, Reduction::max, Reduction::min,
                                  Reduction::mean};
  const auto n = static_cast<std::size_t>(world);
  const std::size_t counts[] = {0, 1, n - 1, n, n + 1, 1000, 20'011};
  std::vector<Case> cases;
  std::size_t turn = 0;  // Each way meets every dtype, reduction and count, though not every combination.
  for (const Collective collective : all_collectives()) {
    for (const Algorithm algorithm : all_algorithms()) {
      Call call{collective, algorithm, world};
      for (Rank rank = 0; rank < world; ++rank) call.group_of.push_back(rank / 2);
      if (!supports(call)) continue;
      for (std::size_t i = 0; i < 7; ++i, ++turn) {
        call.count = counts[i];
        call.root = static_cast<Rank>(turn % n);
        Case c{call, dtypes[(i + turn / 7) % 7], reductions[turn % 5], turn % 3 != 0};
        // A product of many small numbers overflows the small dtypes.
        if (c.reduction == Reduction::product && world > 5) c.reduction = Reduction::max;
        if (c.reduction == Reduction::mean && size_of(c.dtype) <= 2) c.reduction = Reduction::min;
        cases.push_back(c);
      }
    }
  }
  return cases;
}

// For hierarchical algorithms: every two ranks are neighbours.
inline GroupOptions options_for_cases(int world) {
  GroupOptions options;
  for (Rank rank = 0; rank < world; ++rank) options.group_of.push_back(rank / 2);
  return options;
}

// Runs all that the group can do. Throws Error at the first result that is not the serial one.
inline void run_cases(Group& group, const std::vector<Case>& cases) {
  const bool shares_memory = group.transport().shared_memory() != nullptr;
  for (const Case& c : cases) {
    if (c.call.algorithm != Algorithm::direct || shares_memory) run_case(group, c);
  }
}

}  // namespace hocket
