#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hocket {

// When AdaComm reconsiders its period: after so many seconds of training, or so many steps.
struct AdaCommInterval {
  double seconds = 0;
  std::int64_t steps = 0;  // Where there are no seconds.
  bool operator==(const AdaCommInterval&) const = default;
};

// AdaComm (Wang and Joshi, 2019): workers that start with many steps between two rounds, and take ever fewer
// as the loss falls. A function of what is observed, so that all workers that observe the same agree. A value
// type.
class AdaComm {
 public:
  struct Observation {
    std::int64_t step = 0;  // Done.
    double seconds = 0;     // Of training.
    double loss = 0;        // Mean over all workers' samples of the round.
    double learning_rate = 0;
  };

  AdaComm(std::int64_t first_period, AdaCommInterval interval);

  std::int64_t period() const { return period_; }
  // Whether the round that is to end after this step is due.
  bool is_due(std::int64_t step) const { return step - last_round_ >= period_; }
  // The loss F0 before the first update, and the rate η0 of that.
  void begin(double loss, double learning_rate);
  // The end of a round. Returns whether the period has changed.
  bool observe(const Observation& round);

  std::string text() const;             // All that it remembers, exactly.
  void restore(std::string_view text);  // Throws ConfigError where it was not written by text().

 private:
  bool is_over(const Observation& round) const;

  std::int64_t first_period_;
  AdaCommInterval interval_;
  std::int64_t period_;
  std::int64_t last_round_ = 0;
  std::int64_t began_step_ = 0;  // The interval.
  double began_seconds_ = 0;
  double first_loss_ = 0;
  double first_rate_ = 0;
};

// τ = ⌈√(η0/η · F/F0) · τ0⌉, or half of the period before, rounded up, where that would not be less.
struct AdaCommRule {
  std::int64_t first_period = 1;
  double first_rate = 0;
  double first_loss = 0;
};
std::int64_t next_period(const AdaCommRule& rule, std::int64_t period, double rate, double loss);

}  // namespace hocket
