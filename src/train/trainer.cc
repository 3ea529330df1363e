#include "train/trainer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>

#include "base/error.h"
#include "data/file.h"
#include "data/loader.h"
#include "nn/schedule.h"
#include "sync/discipline.h"
#include "tensor/kernels/threads.h"
#include "train/agreement.h"
#include "train/average_model.h"
#include "train/balance.h"
#include "train/checkpoint_settings.h"
#include "train/diagnose.h"
#include "train/evaluate.h"
#include "train/lazy_decay.h"
#include "train/micro_batches.h"
#include "train/peer_sync.h"
#include "train/rank_totals.h"
#include "train/run_checkpoints.h"
#include "train/session.h"
#include "train/straggler.h"
#include "train/sums.h"
#include "train/test_scores.h"
#include "train/time_account.h"

namespace hocket {
namespace {

const std::string kReplicas = "replicas";  // Setting of a checkpoint: how many have tensors of their own.

double norm(const Tensor& tensor) {
  double sum = 0;
  if (tensor.dtype() == DType::f64) {
    for (const double x : tensor.values<double>()) sum += x * x;
  } else {
    for (const float x : tensor.values<float>()) sum += static_cast<double>(x) * x;
  }
  return std::sqrt(sum);
}

constexpr std::int64_t kChunks = 8;  // Of an even share, where shares are balanced.

// Shares that differ are made of chunks that do not.
TrainOptions in_chunks(TrainOptions options, const Team& team) {
  if (!options.balance || team.is_alone()) return options;
  const auto refuse = [](bool is_given, const char* what) {
    if (is_given)
      throw ConfigError("{} does not go with --balance, as all ranks meet in it for each chunk", what);
  };
  if (Discipline::parse(options.sync).kind != DisciplineKind::allreduce)
    throw ConfigError("--balance does not go with --sync {}", options.sync);
  refuse(team.mesh().size_of("dp") != team.size(), "a mesh with tp");
  refuse(options.zero > 0, "--zero");
  refuse(options.factors, "--factors");
  refuse(options.sync_batch_norm, "--sync-batch-norm");
  const std::int64_t share = options.batch / team.size();
  if (share == 0) throw ConfigError("--balance: a batch of {} for {} workers", options.batch, team.size());
  if (options.micro_batches == 1)
    options.micro_batches = static_cast<int>(std::clamp<std::int64_t>(share, 1, kChunks));
  return options;
}

class Training {
 public:
  // Does nothing together with other ranks, so that each can fail by itself.
  Training(const TrainOptions& given, TrainObserver& observer, const std::atomic<bool>& stop, Team& team)
      : given_(given),
        data_(open_session_data(given)),
        options_(
            in_chunks(with_defaults(with_discipline(given, data_.train->info()), data_.train->info()), team)),
        observer_(observer),
        stop_(stop),
        team_(team),
        time_(observer, team),
        place_(place_of_worker(options_, team)),
        straggler_(place_.share.count < team.share("dp").count
                       ? Straggler(options_, place_.share.index, place_.share.count)
                       : Straggler(options_, team.rank(), team.size())),
        sums_(plan_sums(options_, team)),
        has_peers_(has_peers(options_, team)),
        plan_(PipelinePlan::parse(options_, team.mesh())),
        session_(has_peers_ ? session_options() : options_, data_.train->info(), has_peers_ ? alone_ : team),
        peers_(make_peer_sync(options_, data_.train->info(), session_, team)),
        micro_batches_(session_, plan_, team.share("pp").index, options_.micro_batches),
        rate_(options_.lr_schedule, options_.learning_rate, options_.warmup, options_.steps,
              steps_per_epoch()),
        checkpoints_(options_, team, [&](const std::string& line) { observer_.on_warning(line); }) {
    if (options_.micro_batches > 1 && data_.train->info().max_nonzeros > 0) {
      throw ConfigError("micro-batches do not cut sparse rows; use --microbatches 1");
    }
    if (decays_lazily()) lazy_decay_.emplace(options_.optimizer.weight_decay, data_.train->info(), session_);
    const Discipline discipline = Discipline::parse(options_.sync);
    reads_again_ = has_peers_ && discipline.kind == DisciplineKind::mapreduce && !discipline.caches;
    bind_constants();
    if (options_.balance && !team.is_alone()) {
      const std::int64_t chunks = (options_.batch + session_.micro_batch() - 1) / session_.micro_batch();
      balance_.emplace(team.size(), std::max<std::int64_t>(chunks, team.size()));
    }
  }

  // Makes sure that all ranks begin alike.
  void begin_together() {
    if (plan_.ranks > 1) team_.communicator()->open_links(plan_.chunks);
    if (!team_.is_alone()) {
      Claims claims = claims_of(options_);
      claims.emplace_back("initial parameters", session_.hash());
      claims.emplace_back("samples", std::to_string(data_.train->info().size));
      require_agreement(team_, claims);
    }
    resume();
    adopt(sums_, team_, exchanged().size());
  }

  TrainResult run() {
    announce();
    if (data_.held_out != nullptr) evaluator_.emplace(session_, *data_.held_out, team_);
    if (!place_.is_driver) open_loader();
    if (peers_) peers_->begin(step_);
    agree_to_stop();
    while (step_ < options_.steps && !is_stopped_) {
      one_step();
      if (balance_ && balance_->is_due(step_)) rebalance(*loader_);
      after_step();
      if (reached_target()) break;
    }
    return finish();
  }

 private:
  // Those of a replica, without the decay that is not the optimizer's but lazy.
  TrainOptions session_options() const {
    TrainOptions options = options_of_replica(options_, team_);
    if (decays_lazily()) options.optimizer.weight_decay = 0;
    return options;
  }

  bool decays_lazily() const {
    return has_peers_ && Discipline::parse(options_.sync).is_lazy &&
           LazyDecay::applies(options_, data_.train->info());
  }

  std::int64_t steps_per_epoch() const {
    return (data_.train->info().size + options_.batch - 1) / options_.batch;
  }

  void open_loader() {
    LoaderOptions loading;
    loading.batch = options_.batch;
    loading.seed = options_.seed;
    loading.start = position_;
    loading.rank = place_.share.index;
    loading.ranks = place_.share.count;
    loading.rows = session_.micro_batch() * options_.micro_batches;
    if (balance_) loading.rows *= team_.size();
    loader_.emplace(*data_.train, loading);
  }

  // From their files, as at the start.
  void open_data_again() {
    loader_.reset();
    evaluator_.reset();
    data_ = open_session_data(given_);
    if (data_.held_out != nullptr) evaluator_.emplace(session_, *data_.held_out, team_);
    open_loader();
  }

  void bind_constants() {
    dloss_ = Tensor(options_.dtype == "f64" ? DType::f64 : DType::f32, {});
    micro_batches_.bind_constants(dloss_.bytes().data(), reinterpret_cast<std::byte*>(&hyper_));
  }

  void announce() {
    const DataInfo& info = data_.train->info();
    observer_.on_start(
        fmt::format("{} ({} parameters) on {} ({} samples, {} held out), batch {}, {} {:.4g}, {} steps, {}{}",
                    options_.model, session_.parameter_count(), info.name, info.size,
                    data_.held_out == nullptr ? 0 : data_.held_out->info().size, options_.batch,
                    options_.optimizer.rule, options_.learning_rate, options_.steps, describe_workers(),
                    is_emulated(options_) ? ", emulated" : ""));
  }

  bool has_driver() const { return has_peers_ && Discipline::parse(options_.sync).has_driver(); }

  std::string describe_workers() const {
    const int threads = kernel::num_threads();
    const std::string each = fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
    if (team_.is_alone()) return each;
    const std::string workers = fmt::format("{} workers{}", has_driver() ? place_.share.count : team_.size(),
                                            has_driver() ? " and a driver" : "");
    const std::string agreeing = peers_ ? peers_->describe() : "";
    return fmt::format("{} over {}, {} each{}{}", workers, team_.transport(), each,
                       agreeing.empty() ? "" : ", ", agreeing);
  }

  // All ranks go on from the same checkpoint; the first one's steps count.
  void resume() {
    const std::optional<RunProgress> before =
        checkpoints_.resume([&](const CheckpointReader& reader) { restore(reader); });
    if (!before) return;
    step_ = own_step_ = met_step_ = recorded_step_ = first_step_ = before->step;
    samples_ = recorded_samples_ = first_samples_ = before->samples;
    recorded_ns_ = before->train_ns;
    time_.resume_at(before->train_ns);
    position_ = before->position;
  }

  // Replicas go on from where they were; other ones than the checkpoint has all begin at their mean.
  void restore(const CheckpointReader& reader) {
    const bool has_own = has_peers_ && progress_of(reader.checkpoint(), kReplicas) == team_.size();
    session_.restore(reader, true, has_own ? replica_prefix() : "");
    if (has_own) peers_->restore(reader);
  }

  std::string replica_prefix() const { return fmt::format("replica/{}/", team_.rank()); }

  void one_step() {
    time_.begin_step();
    hyper_ = hyper_at(options_.optimizer, rate_.at(step_), own_step_);
    if (peers_) peer_step_ = step_of_peer(0, 0);
    const std::int64_t samples = place_.is_driver ? pass_batch() : train_on_batch();
    ++step_;
    ++own_step_;
    samples_ += samples;
    peer_step_.seconds = time_.trained() + time_.seconds_of_step();
    if (lazy_decay_ && (peers_->is_due(step_) || step_ == options_.steps)) lazy_decay_->settle();
    if (peers_) time_.timed(Activity::communicate, [&] { have_met_ = peers_->after_update(peer_step_); });
    follow_peers();
    if (have_met_) agree_to_stop();
    time_.end_step();
  }

  // A batch that is for others; its samples.
  std::int64_t pass_batch() {
    const std::int64_t left = data_.train->info().size - position_.sample;
    const std::int64_t samples = std::min(left, options_.batch);
    position_ = samples == left ? DataPosition{position_.epoch + 1, 0}
                                : DataPosition{position_.epoch, position_.sample + samples};
    observer_.on_span(Activity::update, now_ns(), now_ns());
    return samples;
  }

  // The samples of the batch of all workers.
  std::int64_t train_on_batch() {
    const Batch* batch = nullptr;
    time_.timed(Activity::data, [&] {
      if (reads_again_ && has_read_) open_data_again();
      has_read_ = true;
      batch = &loader_->next();
    });
    // Each sample of the global batch weighs the same, also where the mean is taken over the replicas.
    set_dloss((has_peers_ ? place_.share.count : 1.0) / static_cast<double>(batch->global_count));
    session_.refresh_copies();
    if (options_.micro_batches > 1 && !plan_.is_stream()) {
      std::fill(session_.memory().gradients.bytes().begin(), session_.memory().gradients.bytes().end(),
                std::byte{0});
    }
    step_computed_ = time_.computed_ns();
    step_loss_ = loss_sum_;
    const std::int64_t count = (samples_due(*batch) + session_.micro_batch() - 1) / session_.micro_batch();
    const std::span<const PipelineAction> actions = micro_batches_.actions(count);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      expect(actions.subspan(i));
      perform(actions[i], *batch, count);
    }
    if (plan_.is_stream()) micro_batches_.end_versions(static_cast<int>(count));
    loss_samples_ += batch->count;
    position_ = loader_->position();
    return batch->global_count;
  }

  static Phase phase_of(const PipelineAction& action) {
    return action.kind == ActionKind::forward ? Phase::forward : Phase::backward;
  }

  // Begins to receive what an action and the one behind it need, in this order; the latter not where it uses
  // the same memory.
  void expect(std::span<const PipelineAction> actions) {
    if (plan_.ranks == 1) return;
    Executable& executable = session_.program().training();
    for (std::size_t i = 0; i < std::min<std::size_t>(2, actions.size()); ++i) {
      if (actions[i].kind == ActionKind::update) continue;
      Slot& slot = micro_batches_.slot(actions[i]);
      if (i == 1 && actions[0].kind != ActionKind::update && &slot == &micro_batches_.slot(actions[0]))
        return;
      executable.post_receives(phase_of(actions[i]), slot, actions[i].chunk);
    }
  }

  void perform(const PipelineAction& action, const Batch& batch, std::int64_t count) {
    Executable& executable = session_.program().training();
    if (action.kind == ActionKind::update) return update(action, batch);
    Slot& slot = micro_batches_.slot(action);
    const Bindings bindings = micro_batches_.bindings(action);
    const bool is_forward = action.kind == ActionKind::forward;
    const Activity phase = is_forward ? Activity::forward : Activity::backward;
    if (is_forward && action.chunk == 0)
      micro_batches_.bind(action, data_.train->info(), batch, options_.seed, own_step_);
    if (is_forward && lazy_decay_) lazy_decay_->before_forward(batch, slot);
    if (plan_.is_stream()) set_dloss(1.0 / static_cast<double>(samples_in(batch, action.micro_batch)));
    if (plan_.ranks > 1) {
      const std::int64_t start = now_ns();
      executable.await_first(phase_of(action), slot, action.chunk);
      time_.add(phase, now_ns() - start);  // computed_ns() takes it out again.
      if (straggler_.is_active()) slow_down(action, count);
    }
    const std::int64_t before = time_.computed_ns();
    time_.timed(phase, [&] { executable.run(phase_of(action), slot, bindings, nullptr, action.chunk); });
    action_ns_[is_forward ? 0 : 1] = time_.computed_ns() - before;
    if (is_forward && action.chunk + 1 == plan_.chunks) loss_sum_ += checked_loss(slot, bindings);
  }

  void update(const PipelineAction& action, const Batch& batch) {
    Executable& executable = session_.program().training();
    if (plan_.is_stream()) {
      micro_batches_.begin_version(action);
      const std::int64_t done = step_ * options_.micro_batches + action.micro_batch;
      hyper_ = hyper_at(options_.optimizer, rate_.at(step_), done);
    }
    if (straggler_.is_active() && plan_.ranks == 1 && is_last(action, batch))
      slow_down(time_.computed_ns() - step_computed_, batch);
    if (balance_)
      balance_->add(batch.count, 1e-9 * static_cast<double>(time_.computed_ns() - step_computed_));
    if (peers_) meet_before_update(batch);
    time_.timed(Activity::update, [&] {
      if (lazy_decay_) lazy_decay_->before_update(hyper_.learning_rate, batch);
      executable.run(Phase::update, micro_batches_.slot(action), micro_batches_.bindings(action));
    });
    updated_ = &micro_batches_.slot(action);
  }

  void meet_before_update(const Batch& batch) {
    peer_step_ = step_of_peer(loss_sum_ - step_loss_, batch.count);
    time_.timed(Activity::communicate, [&] { peers_->before_update(peer_step_); });
    hyper_.learning_rate /= peers_->weight();
  }

  // Samples that the largest share of a batch has, so that all ranks have as many micro-batches; this rank's
  // own, where each has as many as it is fast: at least one, if of weight 0.
  std::int64_t samples_due(const Batch& batch) const {
    return balance_ ? std::max<std::int64_t>(1, batch.count)
                    : (batch.global_count + place_.share.count - 1) / place_.share.count;
  }

  bool is_last(const PipelineAction& action, const Batch& batch) const {
    return (action.micro_batch + 1) * session_.micro_batch() >= samples_due(batch);
  }

  // Of all replicas.
  std::int64_t samples_in(const Batch& batch, int micro_batch) const {
    std::int64_t sum = 0;
    for (int replica = 0; replica < place_.share.count; ++replica) {
      const std::int64_t own = rank_share({0, batch.global_count}, replica, place_.share.count).count;
      sum += std::clamp<std::int64_t>(own - micro_batch * session_.micro_batch(), 0, session_.micro_batch());
    }
    return std::max<std::int64_t>(1, sum);
  }

  PeerStep step_of_peer(double loss, std::int64_t samples) const {
    PeerStep step;
    step.step = step_ + 1;
    step.learning_rate = hyper_.learning_rate;
    step.loss = loss;
    step.samples = samples;
    step.seconds = time_.trained();
    step.next_test = std::min({options_.steps, next_after(met_step_, steps_between_tests()),
                               next_after(met_step_, options_.checkpoint_every)});
    step.is_due = step.step == std::min(step.next_test, next_after(met_step_, options_.log_every));
    step.wants_to_stop = stop_.load(std::memory_order_relaxed);
    return step;
  }

  // Workers that go at their own pace say how far all of them are.
  void follow_peers() {
    const std::optional<PeerProgress> progress = peers_ ? peers_->progress() : std::nullopt;
    has_own_pace_ = progress.has_value();
    if (!progress) return;
    step_ = first_step_ + progress->steps;
    samples_ = first_samples_ + progress->samples;
  }

  std::int64_t steps_between_tests() const {
    return options_.eval_every > 0 ? options_.eval_every : steps_per_epoch();
  }

  // The first multiple of `every` beyond `step`; never, if it is 0.
  static std::int64_t next_after(std::int64_t step, std::int64_t every) {
    return every > 0 ? (step / every + 1) * every : std::numeric_limits<std::int64_t>::max();
  }

  // All ranks tell how fast they are, and share the batches that follow accordingly.
  void rebalance(Loader& loader) {
    const double own = balance_->speed();
    std::vector<double> speeds;
    time_.timed(Activity::communicate, [&] { speeds = team_.gather(std::span(&own, 1)); });
    if (!balance_->decide(speeds)) return;
    loader.set_shares(balance_->shares());
    observer_.on_warning(
        fmt::format("step {}: speeds of {:.3g} samples/s; shares of the batch are now {} of {}", step_,
                    fmt::join(speeds, ", "), fmt::join(balance_->shares(), ", "),
                    std::accumulate(balance_->shares().begin(), balance_->shares().end(), std::int64_t{0})));
  }

  // An even share takes the whole time of a step that is emulated.
  void slow_down(std::int64_t computed, const Batch& batch) {
    const double share = balance_ ? static_cast<double>(batch.count * place_.share.count) /
                                        static_cast<double>(batch.global_count)
                                  : 1;
    sleep_for(straggler_.seconds_left(own_step_, 1e-9 * static_cast<double>(computed), share));
  }

  // Before an action of a pipeline, because the next stage goes on when its nodes have run; what these take
  // is known from the last one. Backward is two thirds of the work.
  void slow_down(const PipelineAction& action, std::int64_t count) {
    const bool is_forward = action.kind == ActionKind::forward;
    const double share = (is_forward ? 1.0 : 2.0) / (3.0 * static_cast<double>(count) * plan_.chunks);
    const auto expected = static_cast<double>(action_ns_[is_forward ? 0 : 1]);
    sleep_for(straggler_.seconds_left(step_, 1e-9 * expected, share));
  }

  void sleep_for(double left) {
    time_.timed(Activity::emulate, [&] { std::this_thread::sleep_for(std::chrono::duration<double>(left)); });
  }

  // What the replicas add up or average.
  const Arena& exchanged() { return has_peers_ ? session_.memory().parameters : session_.memory().gradients; }

  Operation exchange() {
    Operation operation{Collective::all_reduce, Algorithm::automatic, Reduction::sum, dloss_.dtype()};
    operation.data = exchanged().data();
    operation.count = exchanged().size() / size_of(dloss_.dtype());
    return operation;
  }

  // So that all ranks end with the same step.
  void agree_to_stop() {
    const bool wants_to_stop = stop_.load(std::memory_order_relaxed);
    if (team_.is_alone()) {
      is_stopped_ = wants_to_stop;
    } else {
      time_.timed(Activity::communicate, [&] { is_stopped_ = team_.any(wants_to_stop); });
    }
  }

  void set_dloss(double value) {
    if (dloss_.dtype() == DType::f64) {
      dloss_.values<double>()[0] = value;
    } else {
      dloss_.values<float>()[0] = static_cast<float>(value);
    }
  }

  double checked_loss(Slot& slot, const Bindings& bindings) {
    Executable& executable = session_.program().training();
    const double loss = scalar_output(executable, slot, "loss");
    if (std::isfinite(loss)) [[likely]]
      return loss;
    const std::string culprit = first_bad_tensor(executable, slot, bindings);
    const std::string who = team_.is_alone() ? "" : fmt::format("rank {}: ", team_.rank());
    throw Error("{}step {}: {}: {} (learning rate {:.4g})", who, step_ + 1, kNotFinite, culprit,
                rate_.at(step_));
  }

  // What is due waits for the step after which all workers meet.
  void after_step() {
    const bool is_last = step_ == options_.steps;
    if (!have_met_ && !is_last) {
      if (has_own_pace_ && team_.is_first() && step_ >= next_after(recorded_step_, options_.log_every))
        record_step();
      return;
    }
    const auto is_due = [&](std::int64_t every) { return is_last || step_ >= next_after(met_step_, every); };
    if (has_own_pace_ || is_due(options_.log_every)) record_step();
    if (is_due(steps_between_tests())) evaluate();
    if (step_ >= next_after(met_step_, options_.checkpoint_every)) save();
    met_step_ = step_;
  }

  // The mean of the replicas for as long as it lives, where they differ.
  std::unique_ptr<AverageModel> average(bool with_optimizer = false) {
    if (!has_peers_) average_buffers(session_, team_);
    if (!has_peers_ || has_driver()) return nullptr;
    return std::make_unique<AverageModel>(
        session_, *team_.communicator()->gradients(),
        AverageModel::What{.parameters = !peers_->is_same_everywhere(), .optimizer = with_optimizer},
        peers_->weight());
  }

  double epochs_done() const {
    if (has_own_pace_) return static_cast<double>(samples_) / static_cast<double>(data_.train->info().size);
    return static_cast<double>(position_.epoch) +
           static_cast<double>(position_.sample) / static_cast<double>(data_.train->info().size);
  }

  // Of this worker's own loss, where it has not met the others.
  void record_step() {
    const std::int64_t now = time_.trained_ns();
    double loss[] = {loss_sum_, static_cast<double>(loss_samples_)};
    if (have_met_ || !has_own_pace_) team_.sum_along("dp", loss);
    team_.sum_along("pp", std::span(loss, 1));  // The last stage's alone is not 0.
    StepRecord record;
    record.step = step_;
    record.total_steps = options_.steps;
    record.epoch = epochs_done();
    record.loss = loss[0] / std::max(1.0, loss[1]);
    record.learning_rate = hyper_.learning_rate;
    record.samples_per_second = static_cast<double>(samples_ - recorded_samples_) /
                                std::max(1e-9, 1e-9 * static_cast<double>(now - recorded_ns_));
    record.seconds = time_.trained();
    record.is_emulated = is_emulated(options_);
    if (options_.optimizer.clip > 0 && updated_ != nullptr) {
      record.gradient_norm = scalar_output(session_.program().training(), *updated_, "gradient_norm");
    }
    if (options_.gradient_norms) record.gradient_norms = gradient_norms();
    if (peers_) record.tau = peers_->period();
    last_loss_ = record.loss;
    loss_sum_ = 0;
    loss_samples_ = 0;
    recorded_ns_ = now;
    recorded_samples_ = samples_;
    recorded_step_ = step_;
    observer_.on_step(record);
  }

  std::vector<std::pair<std::string, double>> gradient_norms() {
    std::vector<std::pair<std::string, double>> norms;
    const std::vector<ArenaLayout::Entry>& own = session_.program().layouts().parameters.entries();
    if (plan_.ranks == 1) {
      for (const ArenaLayout::Entry& entry : own)
        norms.emplace_back(entry.name, norm(view_of(session_.memory().gradients, entry)));
      return norms;
    }
    for (const ValueId id : session_.model().values_of(Role::parameter)) {
      double value = 0;
      for (const ArenaLayout::Entry& entry : own) {
        if (entry.name == session_.model().value(id).name)
          value = norm(view_of(session_.memory().gradients, entry));
      }
      team_.sum_along("pp", std::span(&value, 1));
      norms.emplace_back(session_.model().value(id).name, value);
    }
    return norms;
  }

  void evaluate() {
    if (!evaluator_ || evaluated_step_ == step_) return;
    const std::unique_ptr<AverageModel> mean = average();
    Evaluation evaluation;
    time_.timed(Activity::evaluate, [&] { evaluation = evaluator_->run(); });
    evaluated_step_ = step_;
    EvalRecord record{step_,           epochs_done(), evaluation.loss, evaluation.accuracy,
                      time_.trained(), evaluation.auc};
    if (mean) record.consensus_distance = consensus_distance_ = consensus_distance(*mean);
    tests_.add(record);
    observer_.on_eval(record);
  }

  double consensus_distance(const AverageModel& mean) {
    double sum = mean.squared_distance();
    team_.sum_along("dp", std::span(&sum, 1));
    return std::sqrt(sum / place_.share.count);
  }

  bool reached_target() const { return tests_.has_reached_target(); }

  void save() {
    if (!checkpoints_.wants(step_)) return;
    time_.timed(Activity::checkpoint, [&] {
      std::vector<OwnPart> replica = replica_parts();
      const std::unique_ptr<AverageModel> mean = average(true);
      Checkpoint checkpoint = session_.checkpoint();
      if (has_peers_ && !team_.is_first()) checkpoint.parts.clear();
      std::move(replica.begin(), replica.end(), std::back_inserter(checkpoint.parts));
      if (has_peers_) checkpoint.settings[kReplicas] = std::to_string(team_.size());
      if (has_peers_) peers_->save(checkpoint);
      checkpoints_.save(std::move(checkpoint), {step_, samples_, time_.trained_ns(), position_});
    });
  }

  // What a replica needs to go on as it is, beside the mean of all.
  std::vector<OwnPart> replica_parts() const {
    if (!has_peers_) return {};
    std::vector<OwnPart> parts = session_.checkpoint().parts;
    for (OwnPart& own : parts) own.part.name = replica_prefix() + own.part.name;
    return parts;
  }

  TrainResult finish() {
    const bool interrupted = is_stopped_ && step_ < options_.steps && !reached_target();
    if (recorded_step_ != step_) record_step();
    save();
    if (!interrupted) evaluate();
    if (peers_) peers_->end();
    TrainResult result;
    result.steps = step_;
    result.samples = samples_;
    result.parameters = session_.parameter_count();
    const std::unique_ptr<AverageModel> mean = has_peers_ ? average() : nullptr;
    result.objective = interrupted ? std::nullopt : objective();
    result.seconds = time_.seconds();
    result.first_step_seconds = time_.first_step_seconds();
    result.train_loss = last_loss_;
    result.batch = options_.batch;
    result.total_steps = options_.steps;
    result.threads = kernel::num_threads();
    if (Group* replicas = team_.is_alone() ? nullptr : team_.communicator()->gradients()) {
      result.algorithm = name_of(replicas->choose(exchange()));
    }
    if (peers_) result.peers = peers_->counts();
    if (peers_) result.peers->consensus_distance = consensus_distance_;
    result.activation_bytes = {static_cast<std::int64_t>(micro_batches_.activation_bytes())};
    if (plan_.ranks > 1) result.bubble_fraction = time_.bubble_fraction();
    if (peers_ && result.peers->graph) result.algorithm = "neighbours";
    if (peers_ && !place_.is_driver) result.peers->data_bytes_read = bytes_of_opened_files();
    add_up_ranks(team_, result);
    if (balance_) result.shares = balance_->shares();
    result.parameter_hash = session_.hash();
    result.interrupted = interrupted;
    tests_.put(result, interrupted);
    return result;
  }

  // liblinear's objective, for a linear model that was given its C.
  std::optional<double> objective() {
    const auto samples = static_cast<double>(data_.train->info().size);
    const bool has_c = options_.model.find(",c=") != std::string::npos && options_.optimizer.weight_decay > 0;
    if (!has_c) return std::nullopt;
    const double c = 1 / (options_.optimizer.weight_decay * samples);
    double squares = 0;
    for (const ArenaLayout::Entry& entry : session_.program().layouts().parameters.entries()) {
      if (entry.type.shape.rank() >= 2)
        squares += std::pow(norm(view_of(session_.memory().parameters, entry)), 2);
    }
    team_.sum_along("pp", std::span(&squares, 1));
    return 0.5 * squares + c * samples * Evaluator(session_, *data_.train, team_).run().loss;
  }

  TrainOptions given_;
  SessionData data_;
  TrainOptions options_;
  TrainObserver& observer_;
  const std::atomic<bool>& stop_;
  Team& team_;
  TimeAccount time_;
  WorkerPlace place_;
  Straggler straggler_;
  std::optional<Balance> balance_;
  SumPlan sums_;
  bool has_peers_;
  Team alone_;  // A replica with peers, as its session sees it.
  PipelinePlan plan_;
  Session session_;
  std::unique_ptr<PeerSync> peers_;
  MicroBatches micro_batches_;
  std::optional<LazyDecay> lazy_decay_;
  LearningRate rate_;
  RunCheckpoints checkpoints_;
  std::optional<Evaluator> evaluator_;
  std::optional<Loader> loader_;

  Tensor dloss_;
  Hyper hyper_;
  const Slot* updated_ = nullptr;       // The last.
  std::int64_t action_ns_[2] = {0, 0};  // What the last forward and backward took to compute.
  std::int64_t step_computed_ = 0;      // computed_ns() before the step's first action,
  double step_loss_ = 0;                // and loss_sum_.
  PeerStep peer_step_{};

  DataPosition position_;
  std::int64_t step_ = 0;
  std::int64_t own_step_ = 0;  // Others, where each worker goes at its own pace.
  std::int64_t samples_ = 0;
  double loss_sum_ = 0;
  std::int64_t loss_samples_ = 0;
  double last_loss_ = 0;
  std::int64_t recorded_ns_ = 0;
  std::int64_t recorded_samples_ = 0;
  std::int64_t recorded_step_ = 0;
  std::int64_t evaluated_step_ = -1;
  bool have_met_ = true;                             // Without peers, after every step.
  std::int64_t met_step_ = 0;                        // When they last did.
  std::int64_t first_step_ = 0, first_samples_ = 0;  // Done before this process.
  bool has_own_pace_ = false;
  std::optional<double> consensus_distance_;
  bool reads_again_ = false;  // Its data, for each step;
  bool has_read_ = false;     // for the first it has them.
  bool is_stopped_ = false;
  TestScores tests_{options_.target_accuracy};
};

// The ranks of a host divide its cores.
int choose_threads(int asked, const Team& team) {
  if (asked < 0 || asked > 1024)
    throw ConfigError("threads {} is not between 1 and 1024 (0 lets the trainer choose)", asked);
  return asked > 0 ? asked : std::max(1, team.cores() / team.share_of_host().count);
}

}  // namespace

TrainResult train(const TrainOptions& options, TrainObserver& observer, const std::atomic<bool>& stop,
                  Team& team) {
  std::optional<Training> training;
  team.attempt([&] {
    kernel::set_num_threads(choose_threads(options.threads, team));
    training.emplace(options, observer, stop, team);
  });
  training->begin_together();
  return training->run();
}

}  // namespace hocket
