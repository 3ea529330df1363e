#include "train/time_account.h"

#include "train/process_usage.h"

namespace hocket {

std::int64_t TimeAccount::computed_ns() const {
  const Communicator* communicator = team_.communicator();
  return spent(Activity::forward) + spent(Activity::backward) + spent(Activity::update) +
         spent(Activity::emulate) - (communicator == nullptr ? 0 : communicator->exposed_ns());
}

void TimeAccount::begin_step() {
  step_began_ = now_ns();
  step_computed_ = computed_ns();
}

double TimeAccount::seconds_of_step() const { return 1e-9 * static_cast<double>(now_ns() - step_began_); }

void TimeAccount::end_step() {
  const std::int64_t now = now_ns();
  trained_ns_ += now - step_began_;
  if (first_step_seconds_ == 0) {
    first_step_seconds_ = 1e-9 * static_cast<double>(now - began_);
  } else {
    paced_ns_ += now - step_began_;
    busy_ns_ += computed_ns() - step_computed_;
  }
}

RankSeconds TimeAccount::seconds() const {
  const Communicator* communicator = team_.communicator();
  const std::int64_t busy = communicator == nullptr ? 0 : communicator->busy_ns();
  const std::int64_t exposed = communicator == nullptr ? 0 : communicator->exposed_ns();
  const std::int64_t own = spent(Activity::communicate);
  RankSeconds seconds;
  seconds.wall_seconds = 1e-9 * static_cast<double>(now_ns() - began_);
  seconds.train_seconds = trained();
  seconds.cpu_seconds = process_cpu_seconds();
  seconds.compute_seconds = 1e-9 * static_cast<double>(computed_ns());
  seconds.comm_seconds = 1e-9 * static_cast<double>(own + busy);
  seconds.exposed_comm_seconds = 1e-9 * static_cast<double>(own + exposed);
  seconds.wait_seconds = 1e-9 * static_cast<double>(spent(Activity::data));
  return seconds;
}

double TimeAccount::bubble_fraction() {
  const double own[] = {static_cast<double>(busy_ns_), static_cast<double>(paced_ns_)};
  const std::vector<double> all = team_.gather(own);
  double busy = 0, paced = 0;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    busy += all[i];
    paced += all[i + 1];
  }
  return paced == 0 ? 0 : 1 - busy / paced;
}

}  // namespace hocket
