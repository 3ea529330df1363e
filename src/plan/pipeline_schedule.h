#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hocket {

// naive: one micro-batch at a time, or the whole batch when there is one only. gpipe: all forwards, then all
// backwards. one_f_one_b ("1f1b"): a backward as soon as there can be one, then one of each by turns.
// interleaved: the same with several chunks of the model a rank. pipedream: 1f1b as an endless stream that
// updates after every backward.
enum class PipelineSchedule : std::uint8_t { naive, gpipe, one_f_one_b, interleaved, pipedream };

std::span<const PipelineSchedule> all_pipeline_schedules();
std::string_view name_of(PipelineSchedule schedule);
PipelineSchedule parse_pipeline_schedule(std::string_view text);  // Throws ConfigError.

enum class ActionKind : std::uint8_t { forward, backward, update };

std::string_view name_of(ActionKind kind);

struct PipelineAction {
  ActionKind kind;
  int micro_batch;  // Of an update the last one whose gradient is in it.
  int chunk;    // Which of the rank's parts of the model; 0 unless interleaved. An update is of all chunks.
  int version;  // Of the weights: how many updates they have had. Of an update the version that it makes.

  bool operator==(const PipelineAction&) const = default;
};

// The model is cut in stages * chunks parts. Part p is chunk p / stages of rank p % stages, its output goes
// to part p + 1, and the gradient comes back the same way.
struct PipelineShape {
  int stages;
  int micro_batches;  // Of pipedream: until the stream is drained, as for a checkpoint. Each has its update.
  int chunks = 1;
  bool vertical_sync =
      false;  // pipedream: a micro-batch meets the same version of the weights in all stages.

  int parts() const { return stages * chunks; }
  bool operator==(const PipelineShape&) const = default;
};

// Throws ConfigError, one line, where there is no such schedule: interleaved needs at least two chunks and a
// number of micro-batches that the stages divide, the others one chunk.
void check_shape(PipelineSchedule schedule, const PipelineShape& shape);

// What one stage does, in order. Forwards and backwards of a chunk are each in the order of micro-batches, so
// that gradients add up in one order everywhere. Synchronous schedules end with their one update.
// Throws ConfigError as check_shape() does.
std::vector<PipelineAction> pipeline_actions(PipelineSchedule schedule, const PipelineShape& shape,
                                             int stage);

// How many micro-batches have activations in `chunk` at once at most: micro-batch m may keep them in slot
// m % n. Over all chunks without `chunk`.
int most_in_flight(std::span<const PipelineAction> actions, int chunk);
int most_in_flight(std::span<const PipelineAction> actions);

// How many versions of the weights a stage must keep at once at most, with the newest: version v may live in
// place v % n, and 1 means that updates are done in place.
int versions_kept(std::span<const PipelineAction> actions);

}  // namespace hocket
