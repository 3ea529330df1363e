#pragma once

#include <deque>

#include "train/team.h"
#include "train/time_account.h"

namespace hocket {

// What the stages of an endless stream tell each other beside micro-batches, so that they stay in step
// without ever meeting: the first tells the others whether a batch enters, the others tell the first what a
// batch came to. Notes arrive before what they are about. Used by one thread, by all ranks alike; throws
// NetError. Team and time must outlive it.
class StageNotes {
 public:
  StageNotes(Team& team, TimeAccount& time);

  // Before each batch: whether it enters. Else the stream drains, since some rank wants to stop.
  bool may_enter(bool wants_to_stop);
  // After each batch, with this rank's part of its loss: in the first stage that of all stages, else 0.
  double pass(double loss, bool wants_to_stop);

 private:
  struct Note {
    double loss = 0;
    double wants_to_stop = 0;
  };
  struct Sent {
    Note note;
    StageLinks::Message message;
  };

  void send(int to, const Note& note);
  Note receive(int from);

  Team& team_;
  TimeAccount& time_;
  const int stage_;
  const int stages_;
  std::deque<Sent> sent_;  // Until they have left.
  bool some_want_to_stop_ = false;
};

}  // namespace hocket
