// Limited-memory BFGS (Liu and Nocedal, 1989). The direction is a combination of the vectors of the history
// and the gradient, so the two-loop recursion runs on its coefficients, given the inner products of these
// vectors (Chen, Wang and Zhou, "Large-scale L-BFGS using MapReduce", 2014). A new iteration needs only those
// with what is new: 5m + 1 numbers.
#include "sync/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hocket {
namespace {

constexpr double kLeastCurvature = 1e-12;  // Of |y|²: pairs with less say nothing about the function.

}  // namespace

Lbfgs::Lbfgs(const LbfgsOptions& options) : options_(options) {
  HOCKET_CHECK(options.history >= 1 && options.history <= kMaxHistory, "history {}", options.history);
  const auto vectors = static_cast<std::size_t>(lbfgs_vectors(options.history));
  products_.resize(vectors * vectors);
  request_start();
}

double Lbfgs::gradient_norm() const {
  const auto vectors = static_cast<std::size_t>(lbfgs_vectors(options_.history));
  return std::sqrt(products_[kGradient * vectors + kGradient]);
}

double& Lbfgs::product(VectorId a, VectorId b) {
  const auto vectors = static_cast<std::size_t>(lbfgs_vectors(options_.history));
  return products_[std::min(a, b) * vectors + std::max(a, b)];
}

int Lbfgs::free_slot() {
  if (static_cast<int>(slots_.size()) == options_.history) slots_.erase(slots_.begin());
  int slot = 0;
  while (std::find(slots_.begin(), slots_.end(), slot) != slots_.end()) ++slot;
  return slot;
}

// Steps and changes of the history, oldest first, then the gradient.
std::vector<VectorId> Lbfgs::basis() const {
  std::vector<VectorId> vectors;
  vectors.reserve(2 * slots_.size() + 1);
  for (const int slot : slots_) vectors.push_back(step_vector(slot));
  for (const int slot : slots_) vectors.push_back(change_vector(slot));
  vectors.push_back(kGradient);
  return vectors;
}

void Lbfgs::request_start() {
  stage_ = Stage::start;
  request_ = {
      {copy_op(kTrial, kPoint)}, true, {copy_op(kGradient, kTrialGradient), dot_op(kGradient, kGradient)}};
}

void Lbfgs::request_trial(std::vector<VectorOp> before) {
  stage_ = Stage::search;
  before.push_back(copy_op(kTrial, kPoint));
  before.push_back(add_op(kTrial, search_->trial(), kDirection));
  request_ = {std::move(before), true, {dot_op(kTrialGradient, kDirection)}};
}

// Moves to the trial point, keeps what changed, and asks for the products with what is new.
void Lbfgs::request_update() {
  stage_ = Stage::update;
  new_slot_ = free_slot();
  const VectorId step = step_vector(new_slot_);
  const VectorId change = change_vector(new_slot_);
  std::vector<VectorOp> ops = {copy_op(step, kTrial),           add_op(step, -1, kPoint),
                               copy_op(change, kTrialGradient), add_op(change, -1, kGradient),
                               copy_op(kPoint, kTrial),         copy_op(kGradient, kTrialGradient)};
  slots_.push_back(new_slot_);
  for (const VectorId vector : basis()) ops.push_back(dot_op(kGradient, vector));
  for (const int slot : slots_) ops.push_back(dot_op(change, change_vector(slot)));
  for (const int slot : slots_) ops.push_back(dot_op(change, step_vector(slot)));
  for (const int slot : slots_) {
    if (slot != new_slot_) ops.push_back(dot_op(step, change_vector(slot)));
  }
  request_ = {{}, false, std::move(ops)};
}

void Lbfgs::answer(double value, std::span<const double> dots) {
  switch (stage_) {
    case Stage::start:
      value_ = value;
      product(kGradient, kGradient) = dots[0];
      first_norm_ = gradient_norm();
      return begin_iteration();
    case Stage::search:
      trial_value_ = value;
      if (search_->answer(value, dots[0])) return finish_search();
      return request_trial({});
    case Stage::update:
      take_products(dots);
      keep_pair();
      value_ = trial_value_;
      ++iterations_;
      return begin_iteration();
  }
}

void Lbfgs::take_products(std::span<const double> dots) {
  std::size_t next = 0;
  for (const VectorOp& op : request_.after) {
    if (op.kind == VectorOp::Kind::dot) product(op.dst, op.src) = dots[next++];
  }
}

void Lbfgs::keep_pair() {
  const VectorId change = change_vector(new_slot_);
  const double curvature = product(step_vector(new_slot_), change);
  if (!(curvature > kLeastCurvature * product(change, change))) slots_.pop_back();
}

void Lbfgs::finish_search() {
  if (search_->has_failed()) {
    forget_history();
  } else {
    request_update();
  }
}

// What was learnt misleads: steepest descent from here, unless that was it already.
void Lbfgs::forget_history() {
  if (slots_.empty()) {
    state_ = LbfgsState::stalled;
    return;
  }
  slots_.clear();
  begin_iteration();
}

void Lbfgs::end_after(int iterations) {
  options_.iterations = iterations;
  if (state_ != LbfgsState::out_of_iterations || iterations_ >= iterations) return;
  state_ = LbfgsState::running;
  begin_iteration();
}

void Lbfgs::begin_iteration() {
  if (gradient_norm() <= options_.tolerance * first_norm_) {
    state_ = LbfgsState::converged;
  } else if (iterations_ >= options_.iterations) {
    state_ = LbfgsState::out_of_iterations;
  } else {
    search_along(direction());
  }
}

// The two-loop recursion: coefficients of -H·g over the basis. q and r are such combinations, too.
std::vector<double> Lbfgs::direction() {
  const std::vector<VectorId> vectors = basis();
  std::vector<double> q(vectors.size());
  q.back() = 1;
  const auto times_q = [&](VectorId vector) {
    double sum = 0;
    for (std::size_t i = 0; i < q.size(); ++i) {
      if (q[i] != 0) sum += q[i] * product(vector, vectors[i]);
    }
    return sum;
  };
  const std::size_t pairs = slots_.size();
  std::vector<double> alpha(pairs);
  for (std::size_t i = pairs; i-- > 0;) {
    alpha[i] = times_q(vectors[i]) / product(vectors[i], vectors[pairs + i]);
    q[pairs + i] -= alpha[i];
  }
  if (pairs > 0) {
    const VectorId change = vectors[2 * pairs - 1];
    const double scale = product(vectors[pairs - 1], change) / product(change, change);
    for (double& coefficient : q) coefficient *= scale;
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    const double beta = times_q(vectors[pairs + i]) / product(vectors[i], vectors[pairs + i]);
    q[i] += alpha[i] - beta;
  }
  for (double& coefficient : q) coefficient = -coefficient;
  return q;
}

void Lbfgs::search_along(const std::vector<double>& coefficients) {
  const std::vector<VectorId> vectors = basis();
  double slope = 0;
  for (std::size_t i = 0; i < vectors.size(); ++i) slope += coefficients[i] * product(kGradient, vectors[i]);
  if (!(slope < 0)) return forget_history();
  std::vector<VectorOp> ops = {copy_op(kDirection, kGradient), scale_op(kDirection, coefficients.back())};
  ops.reserve(vectors.size() + 4);
  for (std::size_t i = 0; i + 1 < vectors.size(); ++i) {
    ops.push_back(add_op(kDirection, coefficients[i], vectors[i]));
  }
  const double first = slots_.empty() ? std::min(1.0, 1 / gradient_norm()) : 1.0;
  search_.emplace(value_, slope, first, options_.search);
  request_trial(std::move(ops));
}

std::vector<double> rounded(std::span<const WideSum> sums) {
  std::vector<double> values;
  values.reserve(sums.size());
  for (const WideSum& sum : sums) values.push_back(sum.rounded());
  return values;
}

void minimize(Lbfgs& lbfgs, LocalVectors& vectors, const std::function<double(LocalVectors&)>& evaluate) {
  while (lbfgs.state() == LbfgsState::running) {
    const Lbfgs::Request request = lbfgs.request();
    vectors.run(request.before);
    const double value = request.evaluates ? evaluate(vectors) : 0;
    lbfgs.answer(value, rounded(vectors.run(request.after)));
  }
}

}  // namespace hocket
