#include "ps/range_state.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hocket {
bool RangeState::Kept::is_copied() const { return push.ids.is_kept() && push.values.is_kept(); }

RangeState::RangeState(const ReplicaOptions& options)
    : options_(&options),
      consistency_(options.make_consistency()),
      slices_(static_cast<std::size_t>(options.workers)),
      is_lost_(static_cast<std::size_t>(options.workers)) {}

std::vector<RangeState::Made> RangeState::make(const ChangeRequest& request) {
  made_.clear();
  last_[request.client] = {request.sequence, false};
  const Made made{request.client, request.sequence};
  if (const auto* init = std::get_if<Init>(&request.change)) make_init(*init, made);
  if (const auto* push = std::get_if<Push>(&request.change)) make_push(*push, made);
  if (const auto* lost = std::get_if<WorkerLost>(&request.change)) {
    acknowledge(made);
    lose(lost->worker);
  }
  if (const auto* joined = std::get_if<WorkerJoined>(&request.change)) {
    acknowledge(made);
    rejoin(joined->worker);
  }
  return std::exchange(made_, {});
}

Sequence RangeState::last_of(const NodeId& client) const {
  const auto at = last_.find(client);
  return at == last_.end() ? Sequence{} : at->second.sequence;
}

std::optional<RangeState::Made> RangeState::find_made(const NodeId& client, const Sequence& sequence) const {
  const auto at = last_.find(client);
  if (at == last_.end() || at->second.sequence.incarnation != sequence.incarnation) return std::nullopt;
  if (sequence > at->second.sequence) return std::nullopt;
  for (const auto& [serial, kept] : kept_) {
    if (kept.client == client && kept.sequence == sequence && !kept.is_copied()) return std::nullopt;
  }
  return Made{client, sequence, sequence == at->second.sequence && at->second.was_dropped};
}

bool RangeState::may_read(const PullRequest& pull) const {
  if (!store_) return false;
  if (pull.client.kind == NodeKind::recorder) return progress().batches >= static_cast<double>(pull.clock);
  return is_worker(pull.client.index) && consistency_->may_read(pull.client.index, pull.clock, version_);
}

PullDone RangeState::read(const PullRequest& pull) {
  PullDone done{pull.range, pull.request, progress()};
  done.destination = pull.destination;
  done.values = store_->read(pull.ids);
  if (pull.with_state) {
    done.values = Payload::copy_of(done.values.bytes);  // The store's next answer takes its place.
    done.state = store_->state(pull.ids);
  }
  return done;
}

RangeStatus RangeState::status(RangeId range) const { return {range, progress(), slices_}; }

RangeProgress RangeState::progress() const {
  const double batches = consistency_->update_is_batch()
                             ? static_cast<double>(version_)
                             : static_cast<double>(step_) + static_cast<double>(applied_) / options_->workers;
  return {version_, batches, samples_, loss_};
}

std::int64_t RangeState::unused() const {
  std::int64_t count = static_cast<std::int64_t>(kept_.size());
  for (const SliceStatus& slice : slices_) count += slice.dropped;
  return count;
}

void RangeState::make_init(const Init& init, const Made& made) {
  try {
    if (init.step < 0) throw NetError("training cannot be at step {}", init.step);
    if (!store_) {
      set_store(init);
      step_ = version_ = init.step;
    }
    acknowledge(made);
  } catch (const Error&) {
    store_.reset();
    acknowledge({made.client, made.sequence, true});
  }
}

void RangeState::set_store(const Init& init) {
  const RateSpec& rate = init.spec.rate;
  rate_.emplace(rate.schedule, rate.base, rate.warmup, rate.total_steps, rate.steps_per_epoch);
  store_ = options_->make_store(init);
  spec_ = init.spec;
}

Hyper RangeState::hyper() const {
  const double batches = progress().batches;
  if (options_->hyper) return options_->hyper(version_, batches);
  return hyper_at(spec_.optimizer, rate_->at(static_cast<std::int64_t>(std::floor(batches))), version_);
}

void RangeState::make_push(const Push& push, const Made& made) {
  if (!is_right(push)) {
    acknowledge({made.client, made.sequence, true});
    return;
  }
  SliceStatus& slice = slices_[static_cast<std::size_t>(push.slice)];
  ++slice.clock;
  if (made.client == worker_node(push.slice)) slice.account = push.account;
  const std::int64_t serial = ++serials_;
  kept_[serial] = {made.client, made.sequence, push};
  follow(consistency_->on_push({serial, push.slice, push.clock, push.version}, version_));
  acknowledge_kept();
}

void RangeState::lose(int worker) {
  if (!is_worker(worker) || is_lost_[static_cast<std::size_t>(worker)]) return;
  is_lost_[static_cast<std::size_t>(worker)] = true;
  follow(consistency_->on_worker_lost(worker, version_));
  acknowledge_kept();
}

void RangeState::rejoin(int worker) {
  if (!is_worker(worker) || !is_lost_[static_cast<std::size_t>(worker)]) return;
  is_lost_[static_cast<std::size_t>(worker)] = false;
  consistency_->on_worker_joined(worker);
}

void RangeState::follow(const Verdict& verdict) {
  if (!verdict.update.empty()) update(verdict);
  for (const std::int64_t serial : verdict.dropped) drop(serial);
}

void RangeState::update(const Verdict& verdict) {
  std::vector<WeightedPush> terms;
  terms.reserve(verdict.update.size());
  for (const Verdict::Term& term : verdict.update) {
    const auto at = kept_.find(term.serial);
    HOCKET_CHECK(at != kept_.end(), "gradient {} is in an update but not here", term.serial);
    terms.push_back({&at->second.push, term.weight});
  }
  store_->apply(terms, hyper());
  for (const WeightedPush& term : terms) count_applied(*term.push);
  ++version_;
  for (const Verdict::Term& term : verdict.update) release(term.serial, false);
}

void RangeState::count_applied(const Push& push) {
  applied_ += push.batches;
  samples_ += push.samples;
  loss_ += push.loss;
  auto& staleness = slices_[static_cast<std::size_t>(push.slice)].staleness;
  const auto tau = std::min(static_cast<std::size_t>(version_ - push.version), kMaxStaleness);
  if (staleness.size() <= tau) staleness.resize(tau + 1);
  ++staleness[tau];
}

void RangeState::drop(std::int64_t serial) {
  const auto at = kept_.find(serial);
  HOCKET_CHECK(at != kept_.end(), "gradient {} is dropped but not here", serial);
  ++slices_[static_cast<std::size_t>(at->second.push.slice)].dropped;
  release(serial, true);
}

void RangeState::release(std::int64_t serial, bool was_dropped) {
  const auto at = kept_.find(serial);
  const Kept& kept = at->second;
  if (!kept.is_acknowledged) acknowledge({kept.client, kept.sequence, was_dropped});
  kept_.erase(at);
}

std::vector<RangeState::Made> RangeState::copy_kept(std::int64_t serial) {
  made_.clear();
  for (auto at = kept_.begin(); at != kept_.end() && at->first <= serial; ++at) {
    at->second.push.ids.keep();
    at->second.push.values.keep();
    acknowledge_copied(at->second);
  }
  return std::exchange(made_, {});
}

// A sender that waits for the update in any case waits for its gradient to be used, where it lies. It is
// copied where the sender should go on: when the discipline lets it, when the gradient was late, and when
// somebody has to compute the share of a worker that was lost.
bool RangeState::may_wait(const Push& push) const {
  const bool is_anyone_lost = std::find(is_lost_.begin(), is_lost_.end(), true) != is_lost_.end();
  return consistency_->update_is_batch() && push.clock >= version_ && !is_anyone_lost;
}

void RangeState::acknowledge_kept() {
  for (auto& [serial, kept] : kept_) {
    if (!may_wait(kept.push)) {
      kept.push.ids.keep();
      kept.push.values.keep();
    }
    acknowledge_copied(kept);
  }
}

void RangeState::acknowledge_copied(Kept& kept) {
  if (kept.is_acknowledged || !kept.is_copied()) return;
  kept.is_acknowledged = true;
  acknowledge({kept.client, kept.sequence});
}

void RangeState::acknowledge(const Made& made) {
  made_.push_back(made);
  Last& last = last_[made.client];
  if (last.sequence == made.sequence) last.was_dropped = made.was_dropped;
}

bool RangeState::is_right(const Push& push) const {
  return store_ && is_worker(push.slice) && push.clock >= 0 && push.version >= 0 &&
         push.version <= version_ && push.samples >= 0 && push.batches >= 1 && store_->fits(push);
}

}  // namespace hocket
