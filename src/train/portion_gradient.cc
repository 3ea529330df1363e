#include "train/portion_gradient.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "data/sampler.h"
#include "train/diagnose.h"
#include "train/trainer.h"

namespace hocket {
namespace {

// A whole replica, whose batch is as large as one worker's share of a step would be.
TrainOptions of_one_replica(TrainOptions options, const DataInfo& info) {
  const std::int64_t workers = std::max(1, options.workers);
  options.batch = std::clamp<std::int64_t>(options.batch / workers, 1, info.size);
  options.micro_batches = 1;
  options.mesh.clear();
  return options;
}

bool is_f64(const TrainOptions& options) { return options.dtype == "f64"; }

template <typename T>
void copy_to(std::span<const double> values, const Arena& arena) {
  const std::span<T> elements = arena.at<T>(0, arena.size() / sizeof(T));
  std::transform(values.begin(), values.end(), elements.begin(), [](double x) { return static_cast<T>(x); });
}

template <typename T>
void copy_from(const Arena& arena, std::span<double> values) {
  const std::span<T> elements = arena.at<T>(0, arena.size() / sizeof(T));
  std::copy(elements.begin(), elements.end(), values.begin());
}

}  // namespace

PortionGradient::PortionGradient(const TrainOptions& options, const Dataset& data, int portions)
    : data_(data),
      options_(of_one_replica(options, data.info())),
      portions_(portions),
      session_(
          options_, data.info(), team_,
          [&](std::size_t bytes) { return arenas_.emplace_back(bytes).bytes(); }, true),
      slot_(session_.program().training().make_slot()),
      batch_(make_batch(data.info(), session_.micro_batch())),
      dloss_(is_f64(options_) ? DType::f64 : DType::f32, {}) {
  if (session_.memory().gradients.size() != session_.memory().parameters.size())
    throw ConfigError("model {} has gradients by rows, which L-BFGS does not take", options_.model);
  Executable& executable = session_.program().training();
  executable.bind(slot_, "dloss", dloss_.bytes().data());
  executable.bind(slot_, "key", reinterpret_cast<std::byte*>(key_));
  indices_.resize(static_cast<std::size_t>(session_.micro_batch()));
  const std::span<const std::byte> statistics = session_.memory().buffers.bytes();
  initial_statistics_.assign(statistics.begin(), statistics.end());
  const double share = 1.0 / static_cast<double>(data.info().size);
  const Arena& parameters = session_.memory().parameters;
  if (is_f64(options_)) {
    dloss_.values<double>()[0] = share;
    initial_.resize(parameters.size() / sizeof(double));
    copy_from<double>(parameters, initial_);
  } else {
    dloss_.values<float>()[0] = static_cast<float>(share);
    initial_.resize(parameters.size() / sizeof(float));
    copy_from<float>(parameters, initial_);
  }
}

void PortionGradient::set_parameters(std::span<const double> point) {
  HOCKET_CHECK(point.size() == initial_.size(), "{} elements for {}", point.size(), initial_.size());
  if (is_f64(options_)) {
    copy_to<double>(point, session_.memory().parameters);
  } else {
    copy_to<float>(point, session_.memory().parameters);
  }
}

double PortionGradient::evaluate(std::span<const double> point, int portion, std::span<double> gradient) {
  set_parameters(point);
  const Arena& gradients = session_.memory().gradients;
  std::ranges::fill(gradients.bytes(), std::byte{0});
  const SampleRange range = rank_share({0, data_.info().size}, portion, portions_);
  double loss = 0;
  for (std::int64_t done = 0; done < range.count; done += session_.micro_batch()) {
    loss += run_batch(range.first + done, std::min(session_.micro_batch(), range.count - done));
  }
  if (is_f64(options_)) {
    copy_from<double>(gradients, gradient);
  } else {
    copy_from<float>(gradients, gradient);
  }
  return loss / static_cast<double>(data_.info().size) + add_penalty(point, gradient);
}

std::span<const std::byte> PortionGradient::statistics(std::span<const double> point, std::int64_t batches) {
  set_parameters(point);
  std::ranges::copy(initial_statistics_, session_.memory().buffers.data());
  const std::int64_t size = data_.info().size;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      indices_[i] = (static_cast<std::int64_t>(i) * size / session_.micro_batch() + batch) % size;
    }
    run_forward(indices_);
  }
  return session_.memory().buffers.bytes();
}

// The loss of these samples, summed.
double PortionGradient::run_batch(std::int64_t first, std::int64_t count) {
  const std::span<std::int64_t> indices = std::span(indices_).first(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), first);
  const double loss = run_forward(indices);
  session_.program().training().run(Phase::backward, slot_, session_.memory().bindings());
  return loss;
}

double PortionGradient::run_forward(std::span<const std::int64_t> indices) {
  const std::int64_t first = indices.front();
  data_.gather(indices, 0, batch_.fields);
  const auto weight = batch_.weight.values<float>();
  const auto end = weight.begin() + static_cast<std::ptrdiff_t>(indices.size());
  std::fill(weight.begin(), end, 1.0F);
  std::fill(end, weight.end(), 0.0F);
  key_[0] = static_cast<std::int64_t>(options_.seed);
  key_[2] = first;
  Executable& executable = session_.program().training();
  const Bindings bindings = session_.memory().bindings();
  bind_batch(executable, slot_, data_.info(), batch_);
  executable.run(Phase::forward, slot_, bindings);
  const double loss = scalar_output(executable, slot_, "loss");
  if (!std::isfinite(loss)) {
    throw Error("sample {}: {}: {}", first, kNotFinite, first_bad_tensor(executable, slot_, bindings));
  }
  return loss;
}

// ½·decay·x² and decay·x over weights, not biases, of which each portion has an equal part.
double PortionGradient::add_penalty(std::span<const double> point, std::span<double> gradient) {
  const double decay = options_.optimizer.weight_decay / portions_;
  double squares = 0;
  for (const ArenaLayout::Entry& entry : session_.program().layouts().parameters.entries()) {
    if (decay == 0 || entry.type.shape.rank() < 2) continue;
    const std::size_t first = entry.offset / size_of(entry.type.dtype);
    for (std::size_t i = first; i < first + static_cast<std::size_t>(entry.type.shape.count()); ++i) {
      squares += point[i] * point[i];
      gradient[i] += decay * point[i];
    }
  }
  return decay * squares / 2;
}

}  // namespace hocket
