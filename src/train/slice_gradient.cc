#include "train/slice_gradient.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "train/diagnose.h"
#include "train/trainer.h"

namespace hocket {
namespace {

constexpr int kPrepared = 2;  // Batches: the one that is computed and the one that comes next.

}  // namespace

SliceGradient::SliceGradient(const TrainOptions& options, const Dataset& data, Session& session, int slices,
                             bool accumulates)
    : options_(options),
      data_(data),
      session_(session),
      slices_(slices),
      accumulates_(accumulates || options.micro_batches > 1),
      slot_(session.program().training().make_slot()),
      dloss_(options.dtype == "f64" ? DType::f64 : DType::f32, {}) {
  Executable& executable = session_.program().training();
  executable.bind(slot_, "dloss", dloss_.bytes().data());
  executable.bind(slot_, "key", reinterpret_cast<std::byte*>(key_));
}

const BatchRows& SliceGradient::prepare(int slice, std::int64_t clock) {
  if (prepared_.empty()) prepared_.assign(kPrepared, {BatchRows(data_.info(), options_.servers)});
  Prepared& prepared = prepared_[static_cast<std::size_t>(clock) % kPrepared];
  if (!prepared.is_of(slice, clock)) {
    prepared.batch = &load(slice, clock);
    prepared.slice = slice;
    prepared.clock = clock;
    prepared.rows.compact(*prepared.batch);
  }
  return prepared.rows;
}

const Batch& SliceGradient::batch_of(int slice, std::int64_t clock) {
  if (prepared_.empty()) return load(slice, clock);
  const Prepared& prepared = prepared_[static_cast<std::size_t>(clock) % kPrepared];
  HOCKET_CHECK(prepared.is_of(slice, clock), "slice {} of batch {} has no rows", slice, clock);
  return *prepared.batch;
}

// Batches that others have done meanwhile are left out.
const Batch& SliceGradient::load(int slice, std::int64_t clock) {
  Source& source = sources_[slice];
  if (source.loader == nullptr || source.clock > clock) {
    const std::int64_t size = data_.info().size;
    const std::int64_t per_epoch = (size + options_.batch - 1) / options_.batch;
    LoaderOptions loading;
    loading.batch = options_.batch;
    loading.seed = options_.seed;
    loading.start = {clock / per_epoch, clock % per_epoch * options_.batch};
    loading.rank = slice;
    loading.ranks = slices_;
    loading.rows = session_.micro_batch() * options_.micro_batches;
    loading.kept = kPrepared;
    source.loader = std::make_unique<Loader>(data_, loading);
    source.clock = clock;
  }
  for (; source.clock < clock; ++source.clock) source.loader->next();
  ++source.clock;
  return source.loader->next();
}

void SliceGradient::set_dloss(double value) {
  if (dloss_.dtype() == DType::f64) {
    dloss_.values<double>()[0] = value;
  } else {
    dloss_.values<float>()[0] = static_cast<float>(value);
  }
}

SliceGradient::Outcome SliceGradient::compute(int slice, std::int64_t clock, bool adds) {
  const Batch& batch = batch_of(slice, clock);
  set_dloss(1.0 / static_cast<double>(batch.global_count));
  Executable& executable = session_.program().training();
  const Bindings bindings = session_.memory().bindings();
  if (accumulates_ && !adds) {
    const std::span<std::byte> gradients = session_.memory().gradients.bytes();
    std::fill(gradients.begin(), gradients.end(), std::byte{0});
  }
  Outcome outcome{0, rank_share({0, batch.global_count}, slice, slices_).count};
  const std::int64_t most = (batch.global_count + slices_ - 1) / slices_;
  for (std::int64_t first = 0; first < most; first += session_.micro_batch()) {
    bind_batch(executable, slot_, data_.info(), batch, first);
    key_[0] = static_cast<std::int64_t>(options_.seed);
    key_[1] = clock;
    key_[2] = batch.offset + first;
    executable.run(Phase::forward, slot_, bindings);
    const double loss = scalar_output(executable, slot_, "loss");
    if (!std::isfinite(loss)) {
      throw Error("step {}: {}: {}", clock + 1, kNotFinite, first_bad_tensor(executable, slot_, bindings));
    }
    outcome.loss += loss;
    executable.run(Phase::backward, slot_, bindings);
  }
  return outcome;
}

}  // namespace hocket
