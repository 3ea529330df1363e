#include "train/evaluate.h"

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "train/checkpoint_store.h"
#include "train/checkpoint_writer.h"
#include "train/ranking.h"

namespace hocket {
namespace {

// One line per row of scores: the index of the largest, or the score itself where there is one.
void write_predictions(std::ofstream& file, const Tensor& scores, std::int64_t rows) {
  const std::int64_t width = scores.count() / scores.shape()[0];
  const auto write_row = [&](const auto* row) {
    if (width == 1) {
      file << fmt::format("{:.6g}\n", static_cast<double>(row[0]));
    } else {
      file << std::max_element(row, row + width) - row << '\n';
    }
  };
  for (std::int64_t i = 0; i < rows; ++i) {
    if (scores.dtype() == DType::f64) {
      write_row(scores.values<double>().data() + i * width);
    } else {
      write_row(scores.values<float>().data() + i * width);
    }
  }
}

CheckpointReader find_checkpoint(const std::filesystem::path& path,
                                 const std::function<void(const std::string&)>& warn) {
  if (std::filesystem::exists(path / kManifestFile)) {
    CheckpointReader reader(path);
    reader.verify();
    return reader;
  }
  const std::filesystem::path folder =
      std::filesystem::exists(path / "checkpoints") ? path / "checkpoints" : path;
  Team alone;
  CheckpointOptions options;
  options.warn = warn;
  std::optional<CheckpointReader> reader = CheckpointStore(folder, alone, options).open_newest();
  if (!reader) throw DataError("{}: no whole checkpoint in this folder", folder.string());
  return std::move(*reader);
}

// One worker, whatever the run's ranks were.
TrainOptions for_one_worker(TrainOptions options) {
  options.place.clear();
  options.schedule.clear();
  options.stages.clear();
  options.zero = 0;
  return options;
}

}  // namespace

Evaluator::Evaluator(Session& session, const Dataset& data, Team& team)
    : session_(session), data_(data), team_(team), slot_(session.program().evaluation().make_slot()) {
  const AxisShare share = team.share("dp");
  LoaderOptions options;
  options.batch = session.micro_batch() * share.count;
  session.bind_copies(session.program().evaluation(), slot_);
  options.rank = share.index;
  options.ranks = share.count;
  options.shuffle = false;
  loader_ = std::make_unique<Loader>(data, options);
}

Evaluation Evaluator::run(const ScoresCallback& on_scores) {
  Executable& executable = session_.program().evaluation();
  session_.refresh_copies();
  const bool classifies = executable.output(slot_, "correct").bytes().data() != nullptr;
  std::optional<Ranking> ranking;
  if (data_.info().task == Task::binary) ranking.emplace();
  double samples = 0;
  double loss = 0;
  double correct = 0;
  for (std::int64_t batches = loader_->batches_per_epoch(); batches > 0; --batches) {
    const Batch& batch = loader_->next();
    bind_batch(executable, slot_, data_.info(), batch);
    for (int chunk = 0; chunk < executable.chunks(); ++chunk)
      executable.run(Phase::forward, slot_, session_.memory().bindings(), nullptr, chunk);
    samples += static_cast<double>(batch.count);
    loss += scalar_output(executable, slot_, "loss");
    correct += scalar_output(executable, slot_, "correct");
    if (ranking && classifies)
      ranking->add(executable.output(slot_, "scores"), batch.fields.back(), batch.count);
    if (on_scores) on_scores(executable.output(slot_, "scores"), batch.count);
  }
  double sums[] = {samples, loss, correct};
  team_.sum_along("dp", sums);
  double scores[] = {sums[1], sums[2], classifies ? 1.0 : 0.0};  // Of the last stage.
  team_.sum_along("pp", scores);
  Evaluation result;
  result.samples = static_cast<std::int64_t>(sums[0]);
  result.loss = scores[0] / sums[0];
  if (scores[2] > 0) result.accuracy = scores[1] / sums[0];
  if (ranking) {
    team_.sum_along("dp", ranking->counts());
    team_.sum_along("pp", ranking->counts());
    result.auc = ranking->area();
  }
  return result;
}

Evaluation evaluate_checkpoint(const EvalOptions& options,
                               const std::function<void(const std::string&)>& warn) {
  const SessionData data = open_session_data(options.train);
  const Dataset* set = options.on_training_data ? data.train : data.held_out;
  if (set == nullptr)
    throw ConfigError("data {} has no test part; name one with --test-data", options.train.data);
  const TrainOptions train = for_one_worker(with_defaults(options.train, data.train->info()));
  Team alone;
  Session session(train, data.train->info(), alone);
  session.restore(find_checkpoint(options.checkpoint, warn), false);

  std::ofstream predictions;
  if (!options.predictions.empty()) {
    predictions.open(options.predictions);
    if (!predictions) throw Error("{}: cannot be written", options.predictions.string());
  }
  Evaluator evaluator(session, *set, alone);
  const auto on_scores = [&](const Tensor& scores, std::int64_t samples) {
    if (predictions.is_open())
      write_predictions(predictions, scores, samples * (scores.shape()[0] / session.micro_batch()));
  };
  const Evaluation result = evaluator.run(on_scores);
  predictions.flush();
  if (!options.predictions.empty() && !predictions)
    throw Error("{}: writing failed", options.predictions.string());
  return result;
}

}  // namespace hocket
