#include "train/stage_notes.h"

namespace hocket {
namespace {

constexpr int kChannel = 0;  // That of parameters which several stages read: a stream has none.

}  // namespace

StageNotes::StageNotes(Team& team, TimeAccount& time)
    : team_(team), time_(time), stage_(team.share("pp").index), stages_(team.share("pp").count) {}

bool StageNotes::may_enter(bool wants_to_stop) {
  bool may = true;
  time_.timed(Activity::communicate, [&] {
    if (stage_ > 0) {
      may = receive(0).wants_to_stop == 0;
      return;
    }
    double wanting = wants_to_stop || some_want_to_stop_ ? 1 : 0;
    team_.sum_along("dp", std::span(&wanting, 1));
    team_.sum_along("tp", std::span(&wanting, 1));
    may = wanting == 0;
    for (int stage = 1; stage < stages_; ++stage) send(stage, {0, wanting});
  });
  return may;
}

double StageNotes::pass(double loss, bool wants_to_stop) {
  if (stage_ > 0) {
    send(0, {loss, wants_to_stop ? 1.0 : 0.0});
    return 0;
  }
  time_.timed(Activity::communicate, [&] {
    for (int stage = 1; stage < stages_; ++stage) {
      const Note note = receive(stage);
      loss += note.loss;
      some_want_to_stop_ = some_want_to_stop_ || note.wants_to_stop != 0;
    }
  });
  return loss;
}

void StageNotes::send(int to, const Note& note) {
  StageLinks& links = team_.communicator()->links();
  while (!sent_.empty() && links.is_done(sent_.front().message)) sent_.pop_front();
  Sent& sent = sent_.emplace_back(Sent{note, {}});
  sent.message = links.send(to, kChannel, std::as_bytes(std::span(&sent.note, 1)));
}

StageNotes::Note StageNotes::receive(int from) {
  StageLinks& links = team_.communicator()->links();
  Note note;
  StageLinks::Message message = links.receive(from, kChannel, std::as_writable_bytes(std::span(&note, 1)));
  links.wait(message);
  return note;
}

}  // namespace hocket
