#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/arena_layout.h"
#include "graph/graph.h"
#include "graph/memory_plan.h"
#include "runtime/exchanges.h"
#include "runtime/lower.h"
#include "tensor/arena.h"
#include "tensor/kernel.h"
#include "tensor/tensor.h"

namespace hocket {

// The memory that one call works on besides its slot. Pointers may differ from call to call: another version
// of the parameters, or arenas in shared memory. Those of a phase that is not run may be null.
struct Bindings {
  std::byte* parameters = nullptr;
  std::byte* gradients = nullptr;
  std::byte* buffers = nullptr;
  std::byte* state = nullptr;
  bool are_common = false;  // Parameters and state: the ranks along dp have them once, see common_updates.cc.
};

// The activations of one batch on its way through the phases, and the inputs bound to it. Movable; used by
// one thread.
class Slot {
 public:
  std::byte* activations() const { return arena_.data(); }

 private:
  friend class Executable;
  Arena arena_;
  std::vector<std::byte*> inputs_;
  std::vector<StageLinks::Message> messages_;  // Under way, by number.
  std::vector<bool> is_posted_;                // Of receives: since the last run that waited for it.
};

// A graph compiled for this machine: kernels prepared, memory planned, nothing left to decide or allocate in
// a step.
//
// Used by one thread at a time, with any number of slots. Building throws what lowering throws; running a
// phase whose inputs are not all bound aborts.
class Executable {
 public:
  // Called after each node of a phase, with the node's index in graph().nodes().
  using Observer = std::function<void(int node)>;

  // A graph that communicates needs a communicator, which outlives the executable. Sums of gradients that
  // travel while backward goes on do so in pieces of about `piece_bytes`.
  Executable(std::unique_ptr<const Graph> graph, const StepLayouts& layouts,
             std::span<const Gradient> gradients, KernelSet kernels, Communicator* communicator = nullptr,
             std::size_t piece_bytes = std::size_t{1} << 40);

  Slot make_slot() const;
  // The memory must stay valid and have the input's type. Returns false when the graph has no such input.
  bool bind(Slot& slot, std::string_view input, std::byte* memory) const;
  // A pipeline's rank runs one chunk of its nodes at a time. Waits for what other stages send when a node
  // needs it.
  void run(Phase phase, Slot& slot, const Bindings& bindings, const Observer* observer = nullptr,
           int chunk = 0);
  // Begins to receive what run() will need: after the slot's last run, any time before this one.
  void post_receives(Phase phase, Slot& slot, int chunk = 0);
  // Waits until the first node of run() can start.
  void await_first(Phase phase, Slot& slot, int chunk = 0);

  // Whether the update can wait for sums of gradients until the next forward needs what it writes: where
  // these travel in the background and updates read nothing that does not outlive the step.
  bool can_update_late() const { return !late_updates_.empty(); }
  // As run(Phase::update), but leaves to the next forward, of any slot, what is not there yet. Until that has
  // run nobody else may look at parameters and state, or change what updates read of what is bound.
  void update_late(Slot& slot, const Bindings& bindings);
  void finish_update();  // What is left of it.
  Exchanges& exchanges() { return exchanges_; }

  // Whether the ranks along dp can have parameters and state in common: where they share memory, and updates
  // are of sums of gradients and nothing else. Each rank then sums and updates its own part of the weights.
  bool can_have_common_weights() const { return !common_updates_.empty(); }

  // A value as it is in memory now: valid until a later node of a run reuses its memory; graph outputs keep
  // theirs.
  Tensor view(const Slot& slot, const Bindings& bindings, ValueId id) const;
  Tensor output(const Slot& slot, std::string_view name) const;

  int chunks() const;  // Of forward.
  const Graph& graph() const { return *graph_; }
  const MemoryPlan& plan() const { return plan_; }
  std::size_t workspace_bytes() const { return work_.size() + scratch_.size(); }

 private:
  // What is done at once of an instruction: mostly all of it, else a part of its weight. Others by number.
  struct Part {
    std::int64_t end = 0;               // Of the weight's elements; it begins where the part before ends.
    std::vector<std::size_t> late;      // The updates that it is the first to need,
    std::vector<std::size_t> awaited;   // the exchanges whose results it reads,
    std::vector<std::size_t> starting;  // and those that can begin when it is done.
  };
  struct Instruction {
    int node = 0;
    const Kernel* kernel = nullptr;  // Null where there is nothing to do but begin exchanges, or to send.
    std::vector<Location> operands;  // Inputs, then outputs.
    std::size_t inputs = 0;
    std::vector<Part> parts{1};
    std::vector<std::size_t> arrivals;  // The messages that it reads, by number.
    std::optional<std::size_t> sent;    // The message that it is.
  };
  // Where gradients that are summed together are cut: the places in their memory where parts and gradients
  // begin, none where none is cut, and the elements of each gradient at which its parts end.
  struct Cuts {
    std::vector<std::size_t> places;
    std::vector<std::vector<std::int64_t>> ends;
  };
  // Behind what an exchange begins: a part of a gradient, which may be made at once with the others.
  struct Starter {
    Instruction* instruction = nullptr;
    std::size_t index = 0;  // Of the part,
    bool is_whole = true;   // if there are any.
    bool operator==(const Starter&) const = default;
    Part& part() const { return instruction->parts[std::min(index, instruction->parts.size() - 1)]; }
  };
  // What an exchange works on: the operands of its node or, of gradients that are made in parts, what lies
  // from `begin` to `end` of their memory.
  struct Exchanged {
    int node = 0;
    std::vector<Location> operands;
    std::size_t inputs = 0;
    std::size_t begin = 0, end = std::numeric_limits<std::size_t>::max();
    bool touches(std::size_t from, std::size_t to) const { return begin < to && end > from; }
  };
  // A part of an update that can wait for the next forward.
  struct LateUpdate {
    std::size_t update = 0, part = 0;  // Of the update phase.
    bool is_due = false;
  };
  // An update of the gradient that lies from `begin` to `end` of the gradients' memory, in whole lines.
  struct CommonUpdate {
    std::size_t begin = 0, end = 0;
    std::size_t update = 0;  // Of the update phase.
  };
  // A stretch of the parameters' memory that this rank updates for all.
  struct OwnWeights {
    std::size_t begin = 0, bytes = 0;
  };
  // A send or receive node.
  struct Transfer {
    int peer = 0, channel = 0;
    Location location;
    std::size_t bytes = 0;
  };
  // What one call of run() does.
  struct Sequence {
    std::vector<Instruction> instructions;
    std::vector<std::size_t> receives, sends;  // By number of transfer.
  };

  // executable_prepare.cc
  struct Sources;
  void prepare(KernelSet kernels, std::size_t piece_bytes);
  void prepare_exchange(const Node& node, Instruction& instruction, Sources& sources,
                        std::size_t piece_bytes);
  Instruction* maker_of(const Node& node, std::size_t input, const Sources& sources);
  Cuts cut_makers(const Node& node, const Instruction& instruction, const Sources& sources,
                  std::size_t piece_bytes);
  Starter starter_of(const Node& node, Instruction& instruction, const Sources& sources, const Cuts& cuts,
                     std::size_t place);
  std::size_t add_exchange(const CollectiveKernel& kernel, std::size_t first, std::size_t count,
                           const Instruction& instruction);
  std::optional<std::unordered_map<ValueId, std::size_t>> late_writers() const;
  void prepare_late_updates(std::size_t piece_bytes);
  void cut_update(Instruction& reader, Instruction& update, std::size_t piece_bytes);
  // common_updates.cc
  void prepare_common_updates();
  // Updates make the sums that they read; other exchanges, such as those of an evaluation, begin as always.
  bool sums_in_update(const Bindings& bindings) const {
    return bindings.are_common && can_have_common_weights();
  }
  bool is_common_update(const Instruction& instruction) const;
  template <typename Body>
  void for_each_run(const Body& body) const;
  void choose_fetcher();
  MemoryRanges own_weights(const Bindings& bindings);
  void update_common(Slot& slot, const Bindings& bindings, const Observer* observer);
  void update_range(std::size_t begin, std::size_t end, Slot& slot, const Bindings& bindings);

  Sequence& sequence_of(const Node& node);
  void add_transfer(const Node& node, ValueId id);

  const Node& node_of(const Instruction& instruction) const;
  const Sequence& sequence_at(Phase phase, int chunk) const;  // Empty where the rank has no such nodes.
  void run_part(const Instruction& instruction, std::size_t index, Slot& slot, const Bindings& bindings);
  void run_late(LateUpdate& late);
  Buffers resolve(int node, std::span<const Location> operands, const Slot& slot, const Bindings& bindings);
  void await(Slot& slot, std::span<const std::size_t> messages);
  std::byte* address(Location location, const Slot& slot, const Bindings& bindings) const;

  std::unique_ptr<const Graph> graph_;
  MemoryPlan plan_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<Sequence> sequences_[kPhases];  // By chunk.
  std::vector<Transfer> transfers_;
  std::vector<std::byte*> pointers_;  // The operands of the instruction that runs.
  Communicator* communicator_ = nullptr;
  Exchanges exchanges_;
  std::vector<Exchanged> exchanged_;  // By number of exchange.
  std::vector<LateUpdate> late_updates_;
  Slot* late_slot_ = nullptr;  // For which they wait; null when none does.
  Bindings late_bindings_;
  std::vector<CommonUpdate> common_updates_;  // As gradients lie in memory.
  std::vector<OwnWeights> own_weights_;
  std::vector<std::span<std::byte>> fetched_;  // The same, where they lie now.
  const Instruction* fetcher_ = nullptr;       // Which fetches them while it computes.
  Arena work_;
  Arena scratch_;
};

}  // namespace hocket
