#include "train/trainer.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "tensor/kernels/threads.h"
#include "train/agreement.h"
#include "train/describe_run.h"
#include "train/evaluate.h"
#include "train/norms.h"
#include "train/rank_totals.h"
#include "train/sums.h"
#include "train/test_scores.h"
#include "train/training_steps.h"

namespace hocket {
namespace {

class Training {
 public:
  // Does nothing together with other ranks, so that each can fail by itself.
  Training(const TrainOptions& given, TrainObserver& observer, const std::atomic<bool>& stop, Team& team)
      : time_(observer, team),
        given_(given),
        data_(open_session_data(given)),
        options_(with_chunks(with_defaults(with_discipline(given, data_.train->info()), data_.train->info()),
                             team)),
        calendar_(options_, data_.train->info()),
        observer_(observer),
        team_(team),
        sums_(plan_sums(options_, team)),
        plan_(PipelinePlan::parse(options_, team.mesh())),
        session_(session_options(), data_.train->info(), has_peers(options_, team) ? alone_ : team),
        replica_(options_, data_.train->info(), session_, team),
        steps_({given_, options_, calendar_, plan_, data_, session_, replica_, team, time_, observer, stop}),
        recorder_(options_, session_, team, time_, observer),
        checkpoints_(options_, team, [&](const std::string& line) { observer_.on_warning(line); }) {}

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
    session_.share_weights(options_);
    adopt(sums_, team_, replica_.exchanged().size());
  }

  TrainResult run() {
    const PeerSync* peers = replica_.peers();
    observer_.on_start(describe_run(options_, data_, session_, team_, peers ? peers->describe() : ""));
    open_evaluator();
    steps_.begin_after(before_);
    while (steps_.step() < options_.steps && !steps_.is_stopped() && !tests_.has_reached_target()) {
      if (steps_.reads_again()) evaluator_.reset();
      steps_.take();
      after_step();
    }
    return finish();
  }

 private:
  // Those of a replica, without the decay that is not the optimizer's but lazy.
  TrainOptions session_options() const {
    if (!has_peers(options_, team_)) return options_;
    TrainOptions options = options_of_replica(options_, team_);
    if (decays_lazily(options_, data_.train->info(), team_)) options.optimizer.weight_decay = 0;
    return options;
  }

  void open_evaluator() {
    if (!evaluator_ && data_.held_out != nullptr) evaluator_.emplace(session_, *data_.held_out, team_);
  }

  // All ranks go on from the same checkpoint; the first one's steps count.
  void resume() {
    const auto restore = [&](const CheckpointReader& reader) { replica_.restore(reader); };
    before_ = checkpoints_.resume(restore).value_or(RunProgress{});
    time_.resume_at(before_.train_ns);
    recorder_.resume_at(before_.step, before_.samples);
  }

  // What is due waits for the step after which all workers meet.
  void after_step() {
    const bool is_last = steps_.step() == options_.steps;
    const auto is_due = [&](std::int64_t last, std::int64_t every) {
      return steps_.step() >= StepCalendar::next(last, every);
    };
    if (!steps_.have_met() && !is_last) {
      if (steps_.has_own_pace() && team_.is_first() && is_due(recorder_.last_step(), calendar_.record_every))
        record_step();
      return;
    }
    const std::int64_t met = steps_.met_step();
    if (steps_.has_own_pace() || is_last || is_due(met, calendar_.record_every)) record_step();
    if (is_last || is_due(met, calendar_.test_every)) evaluate();
    if (is_due(met, calendar_.save_every)) save();
    steps_.leave_meeting();
  }

  // Of this worker's own loss, where it has not met the others; by the first stage, where others are behind.
  void record_step() {
    const StepState state = steps_.take_state();
    if (steps_.is_under_way() && team_.share("pp").index > 0) return recorder_.skip(state);
    recorder_.record(state, steps_.is_under_way()                         ? StepRecorder::Of::replicas
                            : steps_.have_met() || !steps_.has_own_pace() ? StepRecorder::Of::all
                                                                          : StepRecorder::Of::worker);
  }

  void evaluate() {
    open_evaluator();
    if (!evaluator_ || (tests_.last() && tests_.last()->step == steps_.step())) return;
    const std::unique_ptr<AverageModel> mean = replica_.average();
    Evaluation evaluation;
    time_.timed(Activity::evaluate, [&] { evaluation = evaluator_->run(); });
    EvalRecord record{steps_.step(),       steps_.epochs(), evaluation.loss,
                      evaluation.accuracy, time_.trained(), evaluation.auc};
    if (mean) record.consensus_distance = replica_.consensus_distance(*mean);
    tests_.add(record);
    observer_.on_eval(record);
  }

  void save() {
    if (!checkpoints_.wants(steps_.step())) return;
    time_.timed(Activity::checkpoint, [&] { replica_.save(checkpoints_, steps_.progress()); });
  }

  TrainResult finish() {
    const bool is_whole = steps_.step() >= options_.steps || tests_.has_reached_target();
    const bool interrupted = steps_.is_stopped() && !is_whole;
    if (recorder_.last_step() != steps_.step()) record_step();
    save();
    if (!interrupted) evaluate();
    if (replica_.peers() != nullptr) replica_.peers()->end();
    TrainResult result = result_so_far(interrupted);
    add_up_ranks(team_, result);
    result.shares = steps_.shares();
    result.interrupted = interrupted;
    tests_.put(result, interrupted);
    return result;
  }

  // Of this rank; the hash is that of the mean of the replicas.
  TrainResult result_so_far(bool interrupted) {
    const std::unique_ptr<AverageModel> mean = replica_.peers() == nullptr ? nullptr : replica_.average();
    TrainResult result;
    result.steps = steps_.step();
    result.samples = steps_.progress().samples;
    result.parameters = session_.parameter_count();
    if (!interrupted) result.objective = linear_objective(options_, *data_.train, session_, team_);
    result.seconds = time_.seconds();
    result.first_step_seconds = time_.first_step_seconds();
    result.train_loss = recorder_.last_loss();
    result.batch = options_.batch;
    result.total_steps = options_.steps;
    result.threads = kernel::num_threads();
    replica_.put(result);
    if (result.peers && tests_.last()) result.peers->consensus_distance = tests_.last()->consensus_distance;
    result.activation_bytes = {static_cast<std::int64_t>(steps_.activation_bytes())};
    if (plan_.ranks > 1) result.bubble_fraction = time_.bubble_fraction();
    result.parameter_hash = session_.hash();
    return result;
  }

  TimeAccount time_;
  TrainOptions given_;
  SessionData data_;
  TrainOptions options_;
  StepCalendar calendar_;
  TrainObserver& observer_;
  Team& team_;
  SumPlan sums_;
  Team alone_;  // A replica with peers, as its session sees it.
  PipelinePlan plan_;
  Session session_;
  Replica replica_;
  TrainingSteps steps_;
  StepRecorder recorder_;
  RunCheckpoints checkpoints_;
  RunProgress before_;  // This process.
  std::optional<Evaluator> evaluator_;
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
