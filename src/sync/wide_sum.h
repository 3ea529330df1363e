#pragma once

#include <cmath>

namespace hocket {

// A sum in about twice the precision of double (Ogita, Rump and Oishi, 2005): parts of a dot product that
// were summed apart and joined give, once rounded, the bits of the whole summed at once. A value type.
struct WideSum {
  double high = 0;
  double low = 0;

  void add(double value) {
    const double sum = high + value;
    const double part = sum - high;
    low += (high - (sum - part)) + (value - part);
    high = sum;
  }
  void add(const WideSum& other) {
    add(other.high);
    low += other.low;
  }
  void add_product(double a, double b) {
    const double product = a * b;
    low += rounding_of(product, a, b);
    add(product);
  }
  double rounded() const { return high + low; }

  bool operator==(const WideSum&) const = default;

 private:
  // a · b - product, exactly.
  static double rounding_of(double product, double a, double b) {
#ifdef __FP_FAST_FMA
    return std::fma(a, b, -product);
#else
    const double a_high = upper_half(a), a_low = a - a_high;
    const double b_high = upper_half(b), b_low = b - b_high;
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low);
#endif
  }
  static double upper_half(double x) {
    const double scaled = 134217729.0 * x;  // 2²⁷ + 1
    return scaled - (scaled - x);
  }
};

}  // namespace hocket
