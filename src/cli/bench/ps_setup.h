#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ps/message.h"
#include "train/node_place.h"
#include "train/options.h"

namespace hocket {

enum class PsKind : std::uint8_t { dense, sparse };
std::string_view name_of(PsKind kind);

// What `hocket bench ps` measures for a row: workers that push gradients and pull values, as fast as they
// can, under ps:asp. Dense ranges are updated by sgd; sparse ones are tables with rows of kPsWidth numbers,
// updated by adagrad, of which every batch names other rows. A value type.
struct PsSetup {
  PsKind kind = PsKind::dense;
  std::size_t bytes = 0;  // Of values that a worker pushes, and pulls, in a step.
  int workers = 2;
  int servers = 1;
  int replicas = 1;

  std::size_t keys() const;                   // Numbers, or rows, of these.
  std::size_t bytes_moved() const;            // By a worker in a step: to and fro, with the ids of rows.
  std::size_t range_bytes(int server) const;  // Of a dense range.
  RangeSpec range_spec(int server) const;
  TrainOptions train_options() const;
};

inline constexpr std::size_t kPsWidth = 8;

// What the processes of a setup do. None of them returns but by an exception, or when nobody listens.
void run_ps_worker(const PsSetup& setup, const NodePlace& place);
void give_ps_ranges(const PsSetup& setup, const NodePlace& place);  // Returns when the servers have them.

}  // namespace hocket
