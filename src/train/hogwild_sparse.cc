#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "net/clock.h"
#include "tensor/kernels/csr_descent.h"
#include "train/batch_rows.h"
#include "train/hogwild_thread.h"
#include "train/trainer.h"

namespace hocket {
namespace {

constexpr std::int64_t kObserveEvery = 64;  // Updates: to count conflicts takes time.

kernel::LinearLoss loss_of(const std::string& model) {
  if (model == "svm") return kernel::LinearLoss::hinge;
  return model == "linreg" ? kernel::LinearLoss::squared : kernel::LinearLoss::logistic;
}

float* find_bias(Session& session) {
  for (const ArenaLayout::Entry& entry : session.program().layouts().parameters.entries()) {
    if (entry.type.shape.rank() == 1)
      return view_of(session.memory().parameters, entry).values<float>().data();
  }
  return nullptr;
}

std::span<float> weights_of(Session& session) {
  const std::string name = find_tables(session.model()).front().parameter;
  return view_of(session.memory().parameters, session.program().layouts().parameters.at(name))
      .values<float>();
}

class SparseWorker final : public HogwildWorker {
 public:
  SparseWorker(const HogwildShared& shared, HogwildTally& own, SpanRecorder& spans)
      : shared_(shared),
        own_(own),
        spans_(spans),
        descent_(loss_of(parse_model(shared.options.model).name), weights_of(shared.session),
                 find_bias(shared.session)),
        batch_(make_batch(shared.data.info(), shared.grain)) {
    const DataInfo& info = shared.data.info();
    for (std::size_t i = 0; i < fields_.size(); ++i) fields_[i] = field_index(info, kFields[i]);
  }

  void work(const Claim& claim) override {
    const std::int64_t start = now_ns();
    const std::int64_t waited = own_.wait_ns;
    gather_claim(shared_, claim, batch_, indices_);
    rows_ = gathered_rows();
    const std::int64_t gathered = now_ns();
    const auto rate = static_cast<float>(shared_.rate(claim.step) / static_cast<double>(claim.batch_count));
    for (std::int64_t first = 0; first < claim.count; first += shared_.rows) {
      update(first, std::min(shared_.rows, claim.count - first), rate, claim.step);
    }
    const std::int64_t end = now_ns();
    own_.compute_ns += end - start - (own_.wait_ns - waited);
    spans_.record(Activity::data, start, gathered);
    spans_.record(Activity::update, gathered, end);
  }

 private:
  static constexpr std::array<const char*, 4> kFields{"values", "columns", "offsets", "label"};

  kernel::LabelledRows gathered_rows() const {
    const std::int32_t* offsets = batch_.fields[fields_[2]].values<std::int32_t>().data();
    return {batch_.fields[fields_[0]].values<float>().data(),
            batch_.fields[fields_[1]].values<std::int32_t>().data(),
            offsets,
            batch_.fields[fields_[3]].values<float>().data(),
            batch_.count,
            offsets[batch_.count]};
  }

  kernel::LabelledRows rows(std::int64_t first, std::int64_t count) const {
    kernel::LabelledRows some = rows_;
    some.offsets += first;
    some.labels += first;
    some.count = count;
    return some;
  }

  void update(std::int64_t first, std::int64_t count, float rate, std::int64_t step) {
    const bool observes = updates_++ % kObserveEvery == 0;
    kernel::DescentOutcome outcome;
    HogwildUpdate update(shared_, own_, observes);
    if (first == 0) descent_.begin();
    if (observes) {
      outcome = descent_.observed_update(rows(first, count), rate);
      own_.conflicts.writes += outcome.writes;
      own_.conflicts.conflicts += outcome.conflicts;
    } else {
      outcome.loss = descent_.update(rows(first, count), rate);
    }
    if (first + count == batch_.count) descent_.end();
    update.finish(count, outcome.loss);
    if (!std::isfinite(outcome.loss)) throw Error("step {}: {}", step + 1, kNotFinite);
  }

  const HogwildShared& shared_;
  HogwildTally& own_;
  SpanRecorder& spans_;
  kernel::CsrDescent descent_;
  Batch batch_;
  kernel::LabelledRows rows_;  // Of the claim.
  std::array<std::size_t, kFields.size()> fields_{};
  std::vector<std::int64_t> indices_;
  std::int64_t updates_ = 0;
};

}  // namespace

bool is_sparse_descent(const TrainOptions& options, const DataInfo& info) {
  const std::string model = parse_model(options.model).name;
  const bool is_linear = model == "logreg" || model == "svm" || model == "linreg";
  const bool is_plain = options.optimizer.rule == "sgd" && options.optimizer.weight_decay == 0 &&
                        options.optimizer.clip == 0 && options.dtype == "f32";
  return is_linear && is_plain && info.max_nonzeros > 0 && info.task != Task::classification;
}

std::unique_ptr<HogwildWorker> make_sparse_worker(const HogwildShared& shared, HogwildTally& own,
                                                  SpanRecorder& spans) {
  return std::make_unique<SparseWorker>(shared, own, spans);
}

}  // namespace hocket
