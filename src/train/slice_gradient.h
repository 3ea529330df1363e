#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "data/loader.h"
#include "train/batch_rows.h"
#include "train/session.h"

namespace hocket {

// Computes the gradients of slices of batches, for a worker of a parameter server: a batch has a slice for
// each worker, and which samples they hold depends on seed and batch alone. Used by one thread. Options
// (those of the whole run, with_defaults()), data and session must outlive it.
class SliceGradient {
 public:
  struct Outcome {
    double loss = 0;  // Summed over the samples of the slice.
    std::int64_t samples = 0;
  };

  // `accumulates` as the session was made. With tables, the session's are blocks of their rows
  // (batch_rows.h).
  SliceGradient(const TrainOptions& options, const Dataset& data, Session& session, int slices,
                bool accumulates);

  // The rows of tables that the slice needs, where the model has tables: to be called before compute() of
  // that slice, also by another thread while the batch before it is computed. Valid until the next but one.
  const BatchRows& prepare(int slice, std::int64_t clock);

  // Leaves the gradient of the slice's part of the batch's mean loss in the session's gradient arena, or adds
  // it to what is there. Throws Error when the loss is not finite.
  Outcome compute(int slice, std::int64_t clock, bool adds);

 private:
  struct Source {
    std::unique_ptr<Loader> loader;
    std::int64_t clock = 0;  // Of the batch that comes next.
  };

  // A batch whose ids are numbers of rows.
  struct Prepared {
    BatchRows rows;
    const Batch* batch = nullptr;
    int slice = -1;
    std::int64_t clock = -1;

    bool is_of(int of_slice, std::int64_t of_clock) const { return slice == of_slice && clock == of_clock; }
  };

  const Batch& batch_of(int slice, std::int64_t clock);
  const Batch& load(int slice, std::int64_t clock);
  void set_dloss(double value);

  const TrainOptions& options_;
  const Dataset& data_;
  Session& session_;
  int slices_;
  bool accumulates_;
  Slot slot_;
  std::map<int, Source> sources_;   // By slice.
  std::vector<Prepared> prepared_;  // Of even clocks and of odd ones; empty: there are no tables.
  Tensor dloss_;
  std::int64_t key_[3] = {0, 0, 0};
};

}  // namespace hocket
