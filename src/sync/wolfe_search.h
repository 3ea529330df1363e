#pragma once

namespace hocket {

struct WolfeOptions {
  double decrease = 1e-4;  // Of the decrease that the slope at 0 promises, what a step must give at least.
  double curvature = 0.9;  // Of the slope at 0, what may be left at most.
  int trials = 25;
};

// Looks along a direction for a step length that meets the strong Wolfe conditions (Nocedal and Wright,
// algorithms 3.5 and 3.6, with cubic interpolation). Asks for one value and slope after the other. A value
// type.
class WolfeSearch {
 public:
  // At length 0, where the slope is negative; `first` is the length to try first.
  WolfeSearch(double value, double slope, double first, const WolfeOptions& options = {});

  double trial() const { return trial_; }
  // What was found at trial(). True: the search has ended, there or, where has_failed(), nowhere.
  bool answer(double value, double slope);
  bool has_failed() const { return has_failed_; }  // No length was found that decreases the value.

 private:
  struct Point {
    double length = 0;
    double value = 0;
    double slope = 0;
  };

  bool decreases_enough(const Point& point) const;
  bool is_flat_enough(const Point& point) const;
  void bracket(const Point& point);
  void narrow(const Point& point);
  bool give_up(const Point& point);
  double interpolate() const;

  WolfeOptions options_;
  Point start_;
  Point low_;   // The best so far,
  Point high_;  // and the other end of the interval, once there is one.
  bool has_interval_ = false;
  double trial_;
  int trials_ = 0;
  bool is_last_ = false;
  bool has_failed_ = false;
};

}  // namespace hocket
