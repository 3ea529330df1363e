#include <cmath>

#include "base/error.h"
#include "net/clock.h"
#include "nn/optimizer.h"
#include "tensor/kernels/threads.h"
#include "train/diagnose.h"
#include "train/hogwild_thread.h"
#include "train/shared_values.h"
#include "train/trainer.h"

namespace hocket {
namespace {

// The same model for the samples of one update.
TrainOptions options_of_update(TrainOptions options, std::int64_t rows) {
  options.batch = rows;
  options.micro_batches = 1;
  return options;
}

// Computes in a session of its own, on parameters as it has read them, and reads them anew before it updates
// them: so the gradient may be old, but what the update adds to is not.
class DenseWorker final : public HogwildWorker {
 public:
  DenseWorker(const HogwildShared& shared, HogwildTally& own, SpanRecorder& spans)
      : shared_(shared),
        own_(own),
        spans_(spans),
        session_(options_of_update(shared.options, shared.rows), shared.data.info(), team_),
        dloss_(shared.options.dtype == "f64" ? DType::f64 : DType::f32, {}),
        parameters_(shared.session.memory().parameters, session_.memory().parameters, dloss_.dtype()),
        buffers_(shared.session.memory().buffers, session_.memory().buffers, dloss_.dtype()),
        state_(shared.session.memory().state, session_.memory().state, dloss_.dtype()),
        slot_(session_.program().training().make_slot()),
        batch_(make_batch(shared.data.info(), shared.rows)) {
    Executable& executable = session_.program().training();
    executable.bind(slot_, "dloss", dloss_.bytes().data());
    executable.bind(slot_, "hyper", reinterpret_cast<std::byte*>(&hyper_));
    executable.bind(slot_, "key", reinterpret_cast<std::byte*>(key_));
  }

  void work(const Claim& claim) override {
    kernel::adopt_num_threads();
    const std::int64_t start = now_ns();
    gather_claim(shared_, claim, batch_, indices_);
    spans_.record(Activity::data, start, now_ns());
    hyper_ = hyper_at(shared_.options.optimizer, shared_.rate(claim.step), claim.step);
    set_dloss(1.0 / static_cast<double>(claim.batch_count));
    key_[0] = static_cast<std::int64_t>(shared_.options.seed);
    key_[1] = claim.step;
    key_[2] = claim.offset;
    bind_batch(session_.program().training(), slot_, shared_.data.info(), batch_);
    const std::int64_t waited = own_.wait_ns;
    update(claim);
    own_.compute_ns += now_ns() - start - (own_.wait_ns - waited);
  }

 private:
  void update(const Claim& claim) {
    HogwildUpdate update(shared_, own_, true);
    parameters_.read();
    buffers_.read();
    run(Phase::forward, Activity::forward);
    Executable& executable = session_.program().training();
    const double loss = scalar_output(executable, slot_, "loss");
    if (!std::isfinite(loss)) {
      throw Error("step {}: {}: {}", claim.step + 1, kNotFinite,
                  first_bad_tensor(executable, slot_, session_.memory().bindings()));
    }
    run(Phase::backward, Activity::backward);
    parameters_.read_again();
    state_.read();
    run(Phase::update, Activity::update);
    const SharedValues::Written written = parameters_.write();
    own_.conflicts.writes += written.numbers;
    own_.conflicts.conflicts += written.conflicts;
    state_.write();
    buffers_.write();
    update.finish(claim.count, loss);
  }

  void run(Phase phase, Activity activity) {
    const std::int64_t start = now_ns();
    session_.program().training().run(phase, slot_, session_.memory().bindings());
    spans_.record(activity, start, now_ns());
  }

  void set_dloss(double value) {
    if (dloss_.dtype() == DType::f64) {
      dloss_.values<double>()[0] = value;
    } else {
      dloss_.values<float>()[0] = static_cast<float>(value);
    }
  }

  const HogwildShared& shared_;
  HogwildTally& own_;
  SpanRecorder& spans_;
  Team team_;  // Alone.
  Session session_;
  Tensor dloss_;
  SharedValues parameters_, buffers_, state_;
  Slot slot_;
  Batch batch_;
  std::vector<std::int64_t> indices_;
  Hyper hyper_;
  std::int64_t key_[3] = {0, 0, 0};
};

}  // namespace

std::unique_ptr<HogwildWorker> make_dense_worker(const HogwildShared& shared, HogwildTally& own,
                                                 SpanRecorder& spans) {
  return std::make_unique<DenseWorker>(shared, own, spans);
}

}  // namespace hocket
