#include "sync/sandblaster_worker.h"

#include <algorithm>

#include "base/error.h"

namespace hocket {

SandblasterWorker::SandblasterWorker(const NodeId& coordinator, const std::vector<std::int64_t>& lengths,
                                     SandblasterOutbox& out, Seconds patience)
    : coordinator_(coordinator), begins_{0}, out_(out), patience_(patience), has_answered_(lengths.size()) {
  begins_.reserve(lengths.size() + 1);
  for (const std::int64_t length : lengths) begins_.push_back(begins_.back() + length);
  point_.resize(static_cast<std::size_t>(begins_.back()));
}

void SandblasterWorker::on_message(const NodeId& from, const SandblasterMessage& message, TimePoint now) {
  std::visit([&](const auto& body) { on_body(from, body, now); }, message);
}

void SandblasterWorker::on_body(const NodeId& /*from*/, const PortionTask& task, TimePoint now) {
  if (task.serial == task_.serial && stage_ == Stage::idle) report_done();
  if (task.serial <= task_.serial) return;
  if (stage_ == Stage::computing) {
    if (!next_ || next_->serial < task.serial) next_ = task;
  } else {
    begin(task, now);
  }
}

void SandblasterWorker::begin(const PortionTask& task, TimePoint now) {
  task_ = task;
  value_ = 0;
  enter(point_evaluation_ == task.evaluation ? Stage::computing : Stage::reading, now);
}

void SandblasterWorker::enter(Stage stage, TimePoint now) {
  stage_ = stage;
  if (stage != Stage::reading && stage != Stage::pushing) return;
  std::fill(has_answered_.begin(), has_answered_.end(), false);
  answers_ = 0;
  asked_at_ = now;
  ask_all();
}

void SandblasterWorker::ask_all() {
  for (std::size_t server = 0; server < has_answered_.size(); ++server) {
    if (!has_answered_[server]) ask(server);
  }
}

void SandblasterWorker::ask(std::size_t server) {
  const NodeId to = server_node(static_cast<int>(server));
  if (stage_ == Stage::reading) return out_.send(to, PointRequest{task_.evaluation});
  const auto begin = static_cast<std::size_t>(begins_[server]);
  const auto end = static_cast<std::size_t>(begins_[server + 1]);
  const auto part = std::span(*gradient_).subspan(begin, end - begin);
  out_.send(to, PortionPush{task_.evaluation, task_.portion, {std::as_bytes(part), gradient_}});
}

void SandblasterWorker::on_time(TimePoint now) {
  if ((stage_ != Stage::reading && stage_ != Stage::pushing) || now - asked_at_ < patience_) return;
  asked_at_ = now;
  ask_all();
}

// Whether this server's answer is the first one.
bool SandblasterWorker::take_answer(const NodeId& from) {
  const auto server = static_cast<std::size_t>(from.index);
  if (from.kind != NodeKind::server || server >= has_answered_.size() || has_answered_[server]) return false;
  has_answered_[server] = true;
  ++answers_;
  return true;
}

void SandblasterWorker::on_body(const NodeId& from, const PointReply& reply, TimePoint now) {
  if (stage_ != Stage::reading || reply.evaluation != task_.evaluation) return;
  if (reply.is_over) {
    stage_ = Stage::idle;
    return report_done();
  }
  const auto server = static_cast<std::size_t>(from.index);
  const auto values = reply.values.values<double>();
  const bool fits = from.kind == NodeKind::server && server < has_answered_.size() &&
                    values.size() == static_cast<std::size_t>(begins_[server + 1] - begins_[server]);
  if (!fits || !take_answer(from)) return;
  std::copy(values.begin(), values.end(), point_.begin() + static_cast<std::ptrdiff_t>(begins_[server]));
  if (answers_ < has_answered_.size()) return;
  point_evaluation_ = task_.evaluation;
  enter(Stage::computing, now);
}

void SandblasterWorker::finish(double value, std::span<const double> gradient, TimePoint now) {
  HOCKET_CHECK(stage_ == Stage::computing && gradient.size() == point_.size(), "{} elements for {}",
               gradient.size(), point_.size());
  if (next_) {  // The coordinator has given up on this one.
    const PortionTask next = *next_;
    next_.reset();
    return begin(next, now);
  }
  value_ = value;
  gradient_ = std::make_shared<const std::vector<double>>(gradient.begin(), gradient.end());
  enter(Stage::pushing, now);
}

void SandblasterWorker::on_body(const NodeId& from, const PortionPushDone& done, TimePoint /*now*/) {
  if (stage_ != Stage::pushing || done.evaluation != task_.evaluation || done.portion != task_.portion)
    return;
  if (!take_answer(from) || answers_ < has_answered_.size()) return;
  stage_ = Stage::idle;
  report_done();
}

void SandblasterWorker::report_done() { out_.send(coordinator_, PortionDone{task_.serial, value_}); }

}  // namespace hocket
