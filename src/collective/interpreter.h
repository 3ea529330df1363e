#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "collective/schedule.h"

namespace hocket {

// The memory of one rank, in bytes. Scratch belongs to the interpreter and starts as garbage.
struct RankMemory {
  std::span<std::byte> data;
  std::span<const std::byte> input = {};
};

// into[i] = into[i] + from[i], whatever `+` is, for all elements of the two equally long ranges.
using ReduceFunction = std::function<void(std::span<std::byte> into, std::span<const std::byte> from)>;

// Runs the schedules of all ranks in this thread, slowly and obviously right: the oracle of the executor's
// tests. A send copies its bytes when its round begins. Throws Error when a rank waits for a message that
// never comes, or gets one of another size, and when a message is left over; every range must lie inside its
// buffer.
void interpret(std::span<const Schedule> schedules, std::span<const RankMemory> memory,
               std::size_t element_bytes, const ReduceFunction& reduce);

// The same on vectors, data[r] and input[r] being those of rank r; `reduce(T& into, const T& from)`.
template <typename T, typename Reduce>
void interpret(std::span<const Schedule> schedules, std::vector<std::vector<T>>& data,
               const std::vector<std::vector<T>>& input, const Reduce& reduce) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<RankMemory> memory;
  for (std::size_t rank = 0; rank < data.size(); ++rank) {
    memory.push_back({std::as_writable_bytes(std::span(data[rank])), {}});
    if (!input.empty()) memory.back().input = std::as_bytes(std::span(input[rank]));
  }
  interpret(schedules, memory, sizeof(T), [&](std::span<std::byte> into, std::span<const std::byte> from) {
    auto* to = reinterpret_cast<T*>(into.data());
    const auto* term = reinterpret_cast<const T*>(from.data());
    const std::size_t count = into.size() / sizeof(T);
    for (std::size_t i = 0; i < count; ++i) reduce(to[i], term[i]);
  });
}

}  // namespace hocket
