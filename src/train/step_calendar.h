#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "data/dataset.h"
#include "train/options.h"

namespace hocket {

// After which steps things of a run are due. A value type; 0 is never.
struct StepCalendar {
  std::int64_t steps = 0;  // Of the whole run.
  std::int64_t per_epoch = 1;
  std::int64_t test_every = 1;
  std::int64_t save_every = 0;
  std::int64_t record_every = 0;

  // `options` are with_defaults().
  StepCalendar(const TrainOptions& options, const DataInfo& info)
      : steps(options.steps),
        per_epoch((info.size + options.batch - 1) / options.batch),
        test_every(options.eval_every > 0 ? options.eval_every : per_epoch),
        save_every(options.checkpoint_every),
        record_every(options.log_every) {}

  // The first multiple of `every` beyond `step`.
  static std::int64_t next(std::int64_t step, std::int64_t every) {
    return every > 0 ? (step / every + 1) * every : std::numeric_limits<std::int64_t>::max();
  }

  // The first beyond `step` after which the run is tested or saved, or ends.
  std::int64_t next_pause(std::int64_t step) const {
    return std::min({steps, next(step, test_every), next(step, save_every)});
  }
};

}  // namespace hocket
