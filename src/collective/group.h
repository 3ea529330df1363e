#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "collective/collective.h"
#include "collective/direct.h"
#include "collective/executor.h"
#include "collective/flight_recorder.h"
#include "collective/operation.h"
#include "collective/plan.h"
#include "net/transport.h"
#include "tensor/dtype.h"

namespace hocket {

// Which algorithm `automatic` means for an operation of `bytes`; nothing for the default: direct on shared
// memory, else one that keeps the rank order.
using Chooser = std::function<std::optional<Algorithm>(Collective collective, std::size_t bytes)>;

struct GroupOptions {
  unsigned id = 0;  // No other group of these ranks has it.
  Chooser chooser = {};
  std::vector<Rank> group_of = {};  // The host or rack of each rank, for hierarchical algorithms.
  std::filesystem::path flight_folder =
      {};  // Where flight-rank-N.txt goes when an operation fails; empty: nowhere.
};

// Ranks that carry out collectives together. All of them call the same operations in the same order; a rank
// that does not is found out by the labels of the first messages. Blocks are as collective.h says; in-place
// forms work on one vector, others copy. Used by one thread. Throws NetError, which names the culprit; the
// group is then unusable.
class Group {
 public:
  explicit Group(std::unique_ptr<Transport> transport, GroupOptions options = {});

  Rank rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }

  // What `data` holds before and after is said in collective.h; `blocks` are the sizes of the ranks' blocks
  // where they are not even.
  template <typename T>
  void all_reduce(std::span<T> data, Reduction reduction = Reduction::sum,
                  Algorithm algorithm = Algorithm::automatic) {
    run(operation(Collective::all_reduce, data, algorithm, reduction));
  }
  template <typename T>
  void reduce(std::span<T> data, Rank root, Reduction reduction = Reduction::sum,
              Algorithm algorithm = Algorithm::automatic) {
    run(operation(Collective::reduce, data, algorithm, reduction, root));
  }
  template <typename T>
  void broadcast(std::span<T> data, Rank root, Algorithm algorithm = Algorithm::automatic) {
    run(operation(Collective::broadcast, data, algorithm, Reduction::sum, root));
  }
  template <typename T>
  void gather(std::span<T> data, Rank root, std::span<const std::size_t> blocks = {},
              Algorithm algorithm = Algorithm::automatic) {
    run(operation(Collective::gather, data, algorithm, Reduction::sum, root, blocks));
  }
  template <typename T>
  void scatter(std::span<T> data, Rank root, std::span<const std::size_t> blocks = {},
               Algorithm algorithm = Algorithm::automatic) {
    run(operation(Collective::scatter, data, algorithm, Reduction::sum, root, blocks));
  }
  template <typename T>
  void all_gather(std::span<T> data, std::span<const std::size_t> blocks = {},
                  Algorithm algorithm = Algorithm::automatic) {
    run(operation(Collective::all_gather, data, algorithm, Reduction::sum, 0, blocks));
  }
  template <typename T>
  void reduce_scatter(std::span<T> data, Reduction reduction = Reduction::sum,
                      std::span<const std::size_t> blocks = {}, Algorithm algorithm = Algorithm::automatic) {
    run(operation(Collective::reduce_scatter, data, algorithm, reduction, 0, blocks));
  }
  template <typename T>
  void all_to_all(std::span<const T> input, std::span<T> data, std::span<const std::size_t> blocks = {},
                  Algorithm algorithm = Algorithm::automatic) {
    Operation exchange = operation(Collective::all_to_all, data, algorithm, Reduction::sum, 0, blocks);
    exchange.input = reinterpret_cast<const std::byte*>(input.data());
    run(exchange);
  }
  void barrier(Algorithm algorithm = Algorithm::automatic) { run({Collective::barrier, algorithm}); }

  // Any collective in place: `operation.data` (and `input`) as collective.h defines them.
  void run(Operation operation);

  // Where ranks share memory: sums `operation.data`, whole lines of allocate()d memory, of all ranks, each
  // rank its own lines, piece by piece, and calls use(range) when a piece is summed and still in the cache.
  // Nobody leaves before all have used theirs: what `use` writes to memory of allocate_common() is then there
  // for all.
  void sum_and_use(Operation operation, std::size_t piece, const UseOfSum& use);
  // Of so many, those that this rank sums and uses.
  Range own_lines(std::size_t count, std::size_t element_bytes) const {
    return direct_->own_lines(count, element_bytes);
  }
  bool shares_memory() const { return direct_ != nullptr; }

  // What `automatic` means for an operation.
  Algorithm choose(const Operation& operation) const;
  // The algorithm whose schedule says what an operation moves: `exchange` for small sums by `direct`, else
  // its own.
  Algorithm moves_as(const Operation& operation) const;

  // Memory in which collectives need not copy: shared where ranks share memory. Zero, 64-byte aligned, for as
  // long as the group lives.
  std::span<std::byte> allocate(std::size_t bytes);

  // The same memory for all ranks, which must share some; all of them call it.
  std::span<std::byte> allocate_common(std::size_t bytes);

  // Memory like that which stays the caller's until the next call.
  std::span<std::byte> workspace(std::size_t bytes);

  void set_chooser(Chooser chooser) { options_.chooser = std::move(chooser); }
  void set_flight_folder(std::filesystem::path folder) { options_.flight_folder = std::move(folder); }

  // A group of some of these ranks (ascending); each of them calls it, with the same id.
  Group split(std::span<const Rank> members, unsigned id);

  Transport& transport() { return *transport_; }
  const Traffic& traffic() const { return transport_->traffic(); }
  std::uint64_t operations() const { return sequence_; }
  std::string flight_record() const { return recorder_.text(); }

 private:
  template <typename T>
  static DType dtype_of();
  template <typename T>
  static Operation operation(Collective collective, std::span<T> data, Algorithm algorithm,
                             Reduction reduction, Rank root = 0, std::span<const std::size_t> blocks = {}) {
    return {collective,    algorithm,   reduction,
            dtype_of<T>(), root,        reinterpret_cast<std::byte*>(data.data()),
            nullptr,       data.size(), blocks};
  }

  const Plan& plan_of(const Operation& operation);
  void carry_out(const Plan& plan, const Operation& operation, const Label& label);
  template <typename Body>
  void record(const Label& label, const Body& body);
  void leave_flight_record() const noexcept;

  std::unique_ptr<Transport> transport_;
  GroupOptions options_;
  Executor executor_;
  std::unique_ptr<Direct> direct_;
  FlightRecorder recorder_;
  std::vector<std::unique_ptr<Plan>> plans_;  // The latest last.
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::span<std::byte> workspace_;
  unsigned sequence_ = 0;
};

template <typename T>
DType Group::dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  if constexpr (std::is_same_v<T, Float16>) return DType::f16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, BFloat16> ||
                std::is_same_v<T, Float16> || std::is_same_v<T, std::int32_t> ||
                std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint8_t>);
  return DType::u8;
}

}  // namespace hocket
