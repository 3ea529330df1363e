#include "train/lazy_decay.h"

#include <algorithm>

#include "base/error.h"

namespace hocket {
namespace {

bool is_weight(const ArenaLayout::Entry& entry) { return entry.type.shape.rank() >= 2; }

}  // namespace

bool LazyDecay::applies(const TrainOptions& options, const DataInfo& info) {
  const std::string model = parse_model(options.model).name;
  const bool is_linear = model == "logreg" || model == "svm" || model == "linreg";
  return is_linear && info.max_nonzeros > 0 && options.optimizer.rule == "sgd" &&
         options.optimizer.weight_decay > 0 && options.optimizer.clip == 0 && options.dtype == "f32";
}

LazyDecay::LazyDecay(double decay, const DataInfo& info, Session& session)
    : decay_(decay),
      values_(field_index(info, "values")),
      offsets_(field_index(info, "offsets")),
      session_(session) {}

void LazyDecay::scale_entries(const Batch& batch, double factor) {
  const auto offsets = batch.fields[offsets_].values<std::int32_t>();
  const auto values = batch.fields[values_].values<float>();
  const auto entries = static_cast<std::ptrdiff_t>(offsets[static_cast<std::size_t>(batch.count)]);
  std::transform(values.begin(), values.begin() + entries, scaled_.begin(),
                 [&](float value) { return static_cast<float>(value * factor); });
}

void LazyDecay::before_forward(const Batch& batch, Slot& slot) {
  scaled_.resize(batch.fields[values_].values<float>().size());
  scale_entries(batch, scale_);
  session_.program().training().bind(slot, "values", reinterpret_cast<std::byte*>(scaled_.data()));
}

void LazyDecay::before_update(double learning_rate, const Batch& batch) {
  const double kept = 1 - learning_rate * decay_;
  if (kept <= 0) throw Error("lr {} times weight decay {} is not less than 1", learning_rate, decay_);
  if (scale_ * kept < kThreshold) settle();
  scale_ *= kept;
  scale_entries(batch, 1 / scale_);
}

void LazyDecay::settle() {
  if (scale_ == 1) return;
  for (const ArenaLayout::Entry& entry : session_.program().layouts().parameters.entries()) {
    if (!is_weight(entry)) continue;
    for (float& value : view_of(session_.memory().parameters, entry).values<float>())
      value = static_cast<float>(value * scale_);
  }
  scale_ = 1;
}

}  // namespace hocket
