#include "sync/sandblaster_coordinator.h"

#include <algorithm>

#include "base/error.h"

namespace hocket {

SandblasterCoordinator::SandblasterCoordinator(const SandblasterOptions& options, SandblasterOutbox& out)
    : options_(options),
      out_(out),
      lbfgs_(options.lbfgs),
      answers_(static_cast<std::size_t>(options.servers)),
      replicas_(static_cast<std::size_t>(options.workers)),
      ledger_(0) {
  if (options_.portions == 0) options_.portions = kPortionsPerWorker * options.workers;
}

void SandblasterCoordinator::start(TimePoint now) {
  if (has_started_) return;
  has_started_ = true;
  begin_request(now);
}

void SandblasterCoordinator::on_message(const NodeId& from, const SandblasterMessage& message,
                                        TimePoint now) {
  std::visit([&](const auto& body) { on_body(from, body, now); }, message);
}

void SandblasterCoordinator::count(const SandblasterMessage& message) {
  counts_.bytes += static_cast<std::int64_t>(encode(message).size());
  ++counts_.messages;
}

void SandblasterCoordinator::send(const NodeId& to, const SandblasterMessage& message) {
  count(message);
  out_.send(to, message);
}

// Those who only watch are not counted.
void SandblasterCoordinator::on_body(const NodeId& from, const ProgressRequest& request, TimePoint now) {
  const bool was_done = is_done();
  lbfgs_.end_after(request.iterations);
  if (was_done) begin_request(now);
  start(now);
  out_.send(from, progress());
}

SandblasterProgress SandblasterCoordinator::progress() const {
  SandblasterProgress progress = counts_;
  progress.state = lbfgs_.state();
  progress.iterations = lbfgs_.iterations();
  progress.value = lbfgs_.value();
  progress.gradient_norm = lbfgs_.gradient_norm();
  return progress;
}

void SandblasterCoordinator::begin_request(TimePoint now) {
  if (is_done()) return;
  const Lbfgs::Request& request = lbfgs_.request();
  value_ = 0;
  if (request.evaluates) {
    run_batch(Stage::before, {0, ++evaluation_, options_.portions, request.before}, now);
  } else {
    run_batch(Stage::after, {0, evaluation_, 0, request.after}, now);
  }
}

void SandblasterCoordinator::run_batch(Stage stage, VectorBatch batch, TimePoint now) {
  stage_ = stage;
  batch.sequence = batch_.sequence + 1;
  batch_ = std::move(batch);
  expected_dots_ =
      static_cast<std::size_t>(std::count_if(batch_.ops.begin(), batch_.ops.end(), [](const VectorOp& op) {
        return op.kind == VectorOp::Kind::dot;
      }));
  std::fill(answers_.begin(), answers_.end(), std::nullopt);
  send_batch(now);
}

void SandblasterCoordinator::send_batch(TimePoint now) {
  batch_sent_at_ = now;
  for (std::size_t server = 0; server < answers_.size(); ++server) {
    if (!answers_[server]) send(server_node(static_cast<int>(server)), batch_);
  }
}

void SandblasterCoordinator::on_body(const NodeId& from, const VectorBatchDone& done, TimePoint now) {
  count(done);
  const auto server = static_cast<std::size_t>(from.index);
  if (from.kind != NodeKind::server || server >= answers_.size()) return;
  if (stage_ == Stage::evaluating || done.sequence != batch_.sequence || answers_[server]) return;
  if (done.dots.size() != expected_dots_)
    throw NetError("{} answers {} dots with {}", to_string(from), expected_dots_, done.dots.size());
  answers_[server] = done.dots;
  if (std::all_of(answers_.begin(), answers_.end(), [](const auto& answer) { return answer.has_value(); }))
    finish_batch(now);
}

void SandblasterCoordinator::finish_batch(TimePoint now) {
  if (stage_ == Stage::before) {
    stage_ = Stage::evaluating;
    ledger_ = PortionLedger(options_.portions);
    ++counts_.evaluations;
    return hand_out(now);
  }
  lbfgs_.answer(value_, summed_dots());
  begin_request(now);
}

// In the order of the servers, so that timing changes no bit; how many they are changes none either.
std::vector<double> SandblasterCoordinator::summed_dots() const {
  std::vector<WideSum> sums(expected_dots_);
  for (const auto& answer : answers_) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add((*answer)[i]);
  }
  return rounded(sums);
}

void SandblasterCoordinator::hand_out(TimePoint now) {
  for (int worker = 0; worker < options_.workers; ++worker) hand_out_to(worker, now);
}

void SandblasterCoordinator::hand_out_to(int worker, TimePoint now) {
  Replica& replica = replicas_[static_cast<std::size_t>(worker)];
  if (stage_ != Stage::evaluating || !replica.is_live || replica.is_busy) return;
  const std::int64_t backups = ledger_.backups();
  const std::optional<int> portion = ledger_.take(worker);
  if (!portion) return;
  counts_.backups += ledger_.backups() - backups;
  ++counts_.tasks;
  replica = {true, true, {++serial_, evaluation_, *portion, options_.portions}, now};
  send(worker_node(worker), replica.task);
}

void SandblasterCoordinator::on_body(const NodeId& from, const PortionDone& done, TimePoint now) {
  count(done);
  const auto worker = static_cast<std::size_t>(from.index);
  if (from.kind != NodeKind::worker || worker >= replicas_.size()) return;
  Replica& replica = replicas_[worker];
  if (!replica.is_busy || done.serial != replica.task.serial) return;
  replica.is_busy = false;
  if (stage_ != Stage::evaluating) return;
  if (replica.task.evaluation == evaluation_) ledger_.finish(from.index, replica.task.portion, done.value);
  if (ledger_.is_complete()) return finish_evaluation(now);
  hand_out_to(from.index, now);
}

void SandblasterCoordinator::finish_evaluation(TimePoint now) {
  value_ = ledger_.total();
  run_batch(Stage::after, {0, evaluation_, 0, lbfgs_.request().after}, now);
}

void SandblasterCoordinator::on_time(TimePoint now) {
  if (!has_started_ || is_done()) return;
  if (stage_ != Stage::evaluating && now - batch_sent_at_ >= options_.patience) send_batch(now);
  for (std::size_t worker = 0; worker < replicas_.size(); ++worker) {
    Replica& replica = replicas_[worker];
    if (!replica.is_live || !replica.is_busy || now - replica.sent_at < options_.patience) continue;
    replica.sent_at = now;
    send(worker_node(static_cast<int>(worker)), replica.task);
  }
}

void SandblasterCoordinator::on_worker_lost(int worker, TimePoint now) {
  Replica& replica = replicas_.at(static_cast<std::size_t>(worker));
  replica.is_live = replica.is_busy = false;
  ledger_.release(worker);
  if (stage_ == Stage::evaluating) hand_out(now);
}

void SandblasterCoordinator::on_worker_joined(int worker, TimePoint now) {
  Replica& replica = replicas_.at(static_cast<std::size_t>(worker));
  replica.is_live = true;
  replica.is_busy = false;
  ledger_.release(worker);
  hand_out_to(worker, now);
}

}  // namespace hocket
