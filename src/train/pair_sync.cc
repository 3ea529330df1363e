#include "train/pair_sync.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "train/gossip_sync.h"

namespace hocket {

PairSync::PairSync(const Discipline& discipline, const TrainOptions& options, Session& session, Team& team)
    : discipline_(discipline),
      seed_(options.seed),
      session_(session),
      team_(team),
      graph_(graph_of(discipline, options, team.share("dp").count)),
      figures_(figures_of(discipline, graph_)),
      workers_(graph_.size()) {
  if (graph_.is_directed())
    throw ConfigError(
        "sync {}: two workers that average talk both ways, and graph {} has edges that go one way",
        discipline.text(), discipline.graph);
}

void PairSync::begin(std::int64_t step) {
  first_step_ = step;
  Group& group = team_.open_along("dp");
  if (first_step_ == 0) spread_parameters(session_, discipline_.spread, seed_, group.rank());
  PairGossip::Options options;
  options.seed = seed_;
  options.dtype = session_.program().layouts().parameters.entries().front().type.dtype;
  gossip_ =
      std::make_unique<PairGossip>(group.transport(), graph_, session_.memory().parameters.bytes(), options);
}

// After a meeting, and at the start.
void PairSync::go_on(const PeerStep& step) {
  is_meeting_ = false;
  next_meeting_ = step.next_test - first_step_;
  gossip_->open(next_meeting_ * workers_, steps_of_all_);
}

// The update runs on the parameters that others average with.
void PairSync::before_update(const PeerStep& step) {
  if (is_meeting_) go_on(step);
  std::swap(gossip_->lock(), session_.memory().parameters);
}

bool PairSync::after_update(const PeerStep& step) {
  Arena& copy = gossip_->locked();
  const Arena& updated = session_.memory().parameters;
  std::copy(updated.bytes().begin(), updated.bytes().end(), copy.bytes().begin());
  std::swap(copy, session_.memory().parameters);
  gossip_->unlock();
  ++own_.steps;
  own_.samples += step.samples;
  own_.loss += step.loss;
  is_meeting_ = gossip_->finish_step(own_, step.wants_to_stop);
  if (is_meeting_) {
    meet();
  } else {
    guess_progress();
  }
  return is_meeting_;
}

// Before all have met, somebody may still ask; afterwards only what was begun ends.
void PairSync::meet() {
  gossip_->settle();
  const double own[] = {static_cast<double>(own_.steps), static_cast<double>(own_.samples)};
  const std::vector<double> all = team_.gather(own);
  gossip_->settle();
  const Arena& parameters = gossip_->lock();
  std::copy(parameters.bytes().begin(), parameters.bytes().end(), session_.memory().parameters.data());
  gossip_->unlock();
  progress_ = {};
  for (std::size_t i = 0; i < all.size(); i += std::size(own)) {
    progress_.steps += static_cast<std::int64_t>(all[i]);
    progress_.samples += static_cast<std::int64_t>(all[i + 1]);
  }
  steps_of_all_ = progress_.steps;
  progress_.steps = std::min(steps_of_all_ / workers_, next_meeting_);
  met_ = progress_;
  own_met_ = own_;
}

// Rank 0 hears of all; the others take it that all are as fast as they.
void PairSync::guess_progress() {
  if (team_.is_first()) {
    const PairProgress all = gossip_->progress_of_all();
    progress_ = {all.steps / workers_, all.samples};
  } else {
    progress_ = {met_.steps + own_.steps - own_met_.steps,
                 met_.samples + workers_ * (own_.samples - own_met_.samples)};
  }
  progress_.steps = std::min(progress_.steps, next_meeting_ - 1);
}

// Before anybody goes, so that nobody's thread sees another one gone.
void PairSync::end() {
  if (gossip_) gossip_->stop();
}

std::string PairSync::describe() const { return "asynchronous " + hocket::describe(figures_); }

PeerCounts PairSync::counts() const {
  PeerCounts counts;
  counts.graph = figures_;
  counts.steps = {own_.steps};
  if (!gossip_) return counts;
  const PairGossip::Counts pairs = gossip_->counts();
  counts.rounds = pairs.exchanges;
  counts.refusals = pairs.refusals;
  counts.bytes_sent = pairs.bytes_sent;
  return counts;
}

}  // namespace hocket
