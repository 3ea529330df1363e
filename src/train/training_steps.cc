#include "train/training_steps.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "runtime/exchange_order.h"

namespace hocket {

bool decays_lazily(const TrainOptions& options, const DataInfo& info, const Team& team) {
  return has_peers(options, team) && Discipline::parse(options.sync).is_lazy &&
         LazyDecay::applies(options, info);
}

TrainingSteps::TrainingSteps(const StepContext& context)
    : with_(context),
      time_(context.time),
      team_(context.team),
      peers_(context.replica.peers()),
      place_(place_of_worker(context.options, context.team)),
      straggler_(place_.share.count < team_.share("dp").count
                     ? Straggler(context.options, place_.share.index, place_.share.count)
                     : Straggler(context.options, team_.rank(), team_.size())),
      rate_(context.options.lr_schedule, context.options.learning_rate, context.options.warmup,
            context.options.steps, context.calendar.per_epoch),
      feed_(context.given, context.options, context.team, context.data),
      actions_(context.options, context.plan, context.data.train->info(), rate_, straggler_,
               place_.share.count, context.session, context.team, context.time),
      vote_(context.team) {
  const TrainOptions& options = context.options;
  const DataInfo& info = context.data.train->info();
  if (options.micro_batches > 1 && info.max_nonzeros > 0)
    throw ConfigError("micro-batches do not cut sparse rows; use --microbatches 1");
  if (decays_lazily(options, info, team_))
    lazy_decay_.emplace(options.optimizer.weight_decay, info, context.session);
  if (options.balance && !team_.is_alone()) {
    const std::int64_t rows = context.session.micro_batch();
    balance_.emplace(team_.size(), std::max<std::int64_t>((options.batch + rows - 1) / rows, team_.size()));
  }
  if (context.plan.is_stream()) {
    notes_.emplace(team_, time_);
    stream_.emplace(context.plan, team_.share("pp").index, actions_,
                    [this](bool is_empty) { return enter_batch(is_empty); });
  }
  set_hooks();
}

void TrainingSteps::set_hooks() {
  ActionHooks hooks;
  if (lazy_decay_)
    hooks.before_forward = [this](const Batch& batch, Slot& slot) {
      lazy_decay_->before_forward(batch, slot);
    };
  hooks.before_update = [this](const PipelineAction& action, const BatchUnderWay& batch) {
    before_update(batch.index_of(action) + 1 == batch.count, *batch.batch);
  };
  actions_.set_hooks(std::move(hooks));
}

void TrainingSteps::begin_after(const RunProgress& before) {
  step_ = own_step_ = met_step_ = first_step_ = before.step;
  samples_ = first_samples_ = before.samples;
  const std::int64_t rows = with_.session.micro_batch() * with_.options.micro_batches;
  feed_.begin_at(before.position, balance_ ? rows * team_.size() : rows, batches_kept());
  position_ = feed_.position();
  if (peers_) peers_->begin(step_);
  agree_to_stop();
}

RunProgress TrainingSteps::progress() const { return {step_, samples_, time_.trained_ns(), position_}; }

double TrainingSteps::epochs() const {
  const auto size = static_cast<double>(with_.data.train->info().size);
  if (has_own_pace_) return static_cast<double>(samples_) / size;
  return static_cast<double>(position_.epoch) + static_cast<double>(position_.sample) / size;
}

StepState TrainingSteps::take_state() {
  StepState state{step_, samples_, epochs(), actions_.take_loss(), std::exchange(loss_samples_, 0)};
  state.learning_rate = actions_.hyper().learning_rate;
  state.updated = actions_.updated();
  if (peers_) state.tau = peers_->period();
  return state;
}

std::vector<std::int64_t> TrainingSteps::shares() const {
  return balance_ ? balance_->shares() : std::vector<std::int64_t>{};
}

void TrainingSteps::take() {
  time_.begin_step();
  actions_.begin_step(step_, own_step_);
  is_late_ = may_update_late();
  actions_.set_late(is_late_);
  if (peers_) peer_step_ = step_of_peer(0, 0);
  const std::int64_t samples = stream_            ? pass_batch_of_stream()
                               : place_.is_driver ? pass_batch()
                                                  : train_on_batch();
  ++step_;
  ++own_step_;
  samples_ += samples;
  if (peers_) meet_after_update();
  if (have_met_ && !is_under_way()) agree_to_stop();
  if (orders_exchanges_after(step_)) order_exchanges();
  time_.end_step();
  if (balance_ && balance_->is_due(step_)) rebalance();
}

// A batch that is for others; its samples.
std::int64_t TrainingSteps::pass_batch() {
  with_.observer.on_span(Activity::update, now_ns(), now_ns());
  const std::int64_t samples = feed_.pass();
  position_ = feed_.position();
  return samples;
}

// The samples of the batch of all workers.
std::int64_t TrainingSteps::train_on_batch() {
  const Batch* batch = nullptr;
  time_.timed(Activity::data, [&] { batch = &feed_.next(); });
  // Each sample of the global batch weighs the same, also where the mean is taken over the replicas.
  actions_.begin_batch((peers_ ? place_.share.count : 1.0) / static_cast<double>(batch->global_count));
  step_computed_ = time_.computed_ns();
  step_loss_ = actions_.loss();
  position_ = feed_.position();
  const BatchUnderWay under_way{batch, step_, own_step_, 0, micro_batches_of(*batch), position_};
  const std::span<const PipelineAction> actions = actions_.micro_batches().actions(under_way.count);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    actions_.expect(actions.subspan(i));
    actions_.perform(actions[i], under_way);
  }
  loss_samples_ += batch->count;
  return batch->global_count;
}

// The same for the next batch of a stream, behind which others may be under way.
std::int64_t TrainingSteps::pass_batch_of_stream() {
  step_computed_ = time_.computed_ns();
  const BatchUnderWay passed = stream_->pass_batch();
  actions_.add_loss(notes_->pass(actions_.take_loss(), with_.stop.load(std::memory_order_relaxed)));
  position_ = passed.after;
  loss_samples_ += passed.batch->count;
  return passed.batch->global_count;
}

// A stream drains where the run wants the weights of one step: to be tested or saved, or because it ends.
std::optional<BatchUnderWay> TrainingSteps::enter_batch(bool is_first) {
  if (is_first) {
    entered_step_ = step_;
    drain_step_ = next_drain();
  } else if (entered_step_ == drain_step_ || !notes_->may_enter(with_.stop.load(std::memory_order_relaxed))) {
    return std::nullopt;
  }
  const Batch* batch = nullptr;
  time_.timed(Activity::data, [&] { batch = &feed_.next(); });
  const std::int64_t step = entered_step_++;
  return BatchUnderWay{batch, step, step, 0, micro_batches_of(*batch), feed_.position()};
}

std::int64_t TrainingSteps::next_drain() const {
  const std::int64_t pause = with_.calendar.next_pause(step_);
  return with_.options.gradient_norms  // Of all stages at once.
             ? std::min(pause, StepCalendar::next(step_, with_.calendar.record_every))
             : pause;
}

// Those of the micro-batches in flight, of which one is looked at ahead; some batches may be shorter.
int TrainingSteps::batches_kept() const {
  return stream_ ? with_.plan.ranks / with_.options.micro_batches + 3 : 1;
}

// As many as the largest share of a batch has, so that all ranks have as many; where each has as many as it
// is fast this rank's own, at least one, if of weight 0.
int TrainingSteps::micro_batches_of(const Batch& batch) const {
  const std::int64_t rows = with_.session.micro_batch();
  const std::int64_t even = (batch.global_count + place_.share.count - 1) / place_.share.count;
  const std::int64_t samples = balance_ ? std::max<std::int64_t>(1, batch.count) : even;
  return static_cast<int>((samples + rows - 1) / rows);
}

void TrainingSteps::before_update(bool is_last, const Batch& batch) {
  if (straggler_.is_active() && with_.plan.ranks == 1 && is_last) slow_down(batch);
  if (balance_) balance_->add(batch.count, 1e-9 * static_cast<double>(computed_in_step()));
  Hyper& hyper = actions_.hyper();
  if (peers_) {
    peer_step_ = step_of_peer(actions_.loss() - step_loss_, batch.count);
    time_.timed(Activity::communicate, [&] { peers_->before_update(peer_step_); });
    hyper.learning_rate /= peers_->weight();
  }
  if (lazy_decay_)
    time_.timed(Activity::update, [&] { lazy_decay_->before_update(hyper.learning_rate, batch); });
}

// An even share takes the whole time of a step that is emulated.
void TrainingSteps::slow_down(const Batch& batch) {
  const double share = balance_ ? static_cast<double>(batch.count * place_.share.count) /
                                      static_cast<double>(batch.global_count)
                                : 1;
  const double computed = 1e-9 * static_cast<double>(computed_in_step());
  const std::chrono::duration<double> left(straggler_.seconds_left(own_step_, computed, share));
  time_.timed(Activity::emulate, [&] { std::this_thread::sleep_for(left); });
}

PeerStep TrainingSteps::step_of_peer(double loss, std::int64_t samples) {
  PeerStep step;
  step.step = step_ + 1;
  step.learning_rate = actions_.hyper().learning_rate;
  step.loss = loss;
  step.samples = samples;
  step.seconds = time_.trained();
  step.next_test = with_.calendar.next_pause(met_step_);
  step.is_due =
      step.step == std::min(step.next_test, StepCalendar::next(met_step_, with_.calendar.record_every));
  step.wants_to_stop = with_.stop.load(std::memory_order_relaxed);
  return step;
}

// Workers that go at their own pace say how far all of them are.
void TrainingSteps::meet_after_update() {
  peer_step_.seconds = time_.trained() + time_.seconds_of_step();
  if (lazy_decay_ && (peers_->is_due(step_) || step_ == with_.options.steps)) lazy_decay_->settle();
  time_.timed(Activity::communicate, [&] { have_met_ = peers_->after_update(peer_step_); });
  const std::optional<PeerProgress> progress = peers_->progress();
  has_own_pace_ = progress.has_value();
  if (!progress) return;
  step_ = first_step_ + progress->steps;
  samples_ = first_samples_ + progress->samples;
}

// All ranks tell how fast they are, and share the batches that follow accordingly.
void TrainingSteps::rebalance() {
  const double own = balance_->speed();
  std::vector<double> speeds;
  time_.timed(Activity::communicate, [&] { speeds = team_.gather(std::span(&own, 1)); });
  if (!balance_->decide(speeds)) return;
  const std::vector<std::int64_t>& shares = balance_->shares();
  feed_.set_shares(shares);
  with_.observer.on_warning(
      fmt::format("step {}: speeds of {:.3g} samples/s; shares of the batch are now {} of {}", step_,
                  fmt::join(speeds, ", "), fmt::join(shares, ", "),
                  std::accumulate(shares.begin(), shares.end(), std::int64_t{0})));
}

// Where the weights of the next steps are all that is wanted of it.
bool TrainingSteps::may_update_late() const {
  return actions_.can_update_late() && team_.mesh().size_of("dp") == team_.size() &&
         step_ + 1 != next_drain() && !orders_exchanges_after(step_ + 1);
}

// Early, when the first steps have been seen, and ever more seldom.
bool TrainingSteps::orders_exchanges_after(std::int64_t step) const {
  const auto done = static_cast<std::uint64_t>(step - first_step_);
  return actions_.can_update_late() && done >= 4 && std::has_single_bit(done);
}

// As the first rank has seen it best.
void TrainingSteps::order_exchanges() {
  Exchanges& exchanges = with_.session.program().training().exchanges();
  const std::vector<std::int32_t> own = exchanges.plan_order();
  std::vector<std::int32_t> order(own.size());
  time_.timed(Activity::communicate, [&] {
    const std::string bytes(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(own[0]));
    const std::string first = team_.gather(team_.is_first() ? bytes : "").front();
    if (first.size() == bytes.size()) std::memcpy(order.data(), first.data(), first.size());
    if (first.size() != bytes.size() || !is_order(order))
      throw NetError("rank 0 sent {} bytes that are no order of {} exchanges", first.size(), own.size());
  });
  exchanges.set_order(order);
}

// So that all ranks end with the same step: the next one where the update is late.
void TrainingSteps::agree_to_stop() {
  const bool wants = with_.stop.load(std::memory_order_relaxed);
  if (team_.is_alone()) {
    is_stopped_ = wants;
    return;
  }
  if (!is_late_) {
    time_.timed(Activity::communicate, [&] { is_stopped_ = vote_.now(wants); });
    return;
  }
  const std::int64_t start = now_ns();
  is_stopped_ = vote_.behind(wants);
  time_.add(Activity::update, now_ns() - start);  // computed_ns() takes out what was waiting.
  if (is_stopped_) actions_.settle();
}

}  // namespace hocket
