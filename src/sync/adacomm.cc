#include "sync/adacomm.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/error.h"

namespace hocket {

std::int64_t next_period(const AdaCommRule& rule, std::int64_t period, double rate, double loss) {
  const double factor = std::sqrt(rule.first_rate / rate * loss / rule.first_loss);
  const double wanted = std::ceil(factor * static_cast<double>(rule.first_period));
  if (wanted < static_cast<double>(period))
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
  return (period + 1) / 2;  // Also where the loss is no number.
}

AdaComm::AdaComm(std::int64_t first_period, AdaCommInterval interval)
    : first_period_(first_period), interval_(interval), period_(first_period) {}

bool AdaComm::is_over(const Observation& round) const {
  if (interval_.seconds > 0) return round.seconds - began_seconds_ >= interval_.seconds;
  return round.step - began_step_ >= interval_.steps;
}

void AdaComm::begin(double loss, double learning_rate) {
  first_loss_ = loss;
  first_rate_ = learning_rate;
}

bool AdaComm::observe(const Observation& round) {
  last_round_ = round.step;
  if (!is_over(round)) return false;
  began_step_ = round.step;
  began_seconds_ = round.seconds;
  const std::int64_t before = period_;
  period_ = next_period({first_period_, first_rate_, first_loss_}, period_, round.learning_rate, round.loss);
  return period_ != before;
}

std::string AdaComm::text() const {
  return fmt::format("{} {} {} {} {} {}", period_, last_round_, began_step_, began_seconds_, first_loss_,
                     first_rate_);
}

void AdaComm::restore(std::string_view text) {
  std::istringstream stream{std::string(text)};
  stream >> period_ >> last_round_ >> began_step_ >> began_seconds_ >> first_loss_ >> first_rate_;
  if (!stream || period_ < 1) throw ConfigError("'{}' is not what adacomm remembers", text);
}

}  // namespace hocket
