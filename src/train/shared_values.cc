#include "train/shared_values.h"

#include <atomic>

#include "base/error.h"

namespace hocket {
namespace {

template <typename Real>
Real load(Real* value) {
  return std::atomic_ref(*value).load(std::memory_order_relaxed);
}

}  // namespace

SharedValues::SharedValues(const Arena& shared, const Arena& own, DType dtype)
    : shared_(shared.data()),
      own_(own.data()),
      bytes_(shared.size()),
      is_double_(dtype == DType::f64),
      first_(shared.size()),
      base_(shared.size()) {
  HOCKET_CHECK(own.size() == shared.size(), "{} bytes of {} shared ones", own.size(), shared.size());
}

template <typename Real>
void SharedValues::read_as() {
  auto* shared = reinterpret_cast<Real*>(shared_);
  auto* own = reinterpret_cast<Real*>(own_);
  for (std::size_t i = 0; i < bytes_ / sizeof(Real); ++i) own[i] = load(shared + i);
  base_.assign(own_, own_ + bytes_);
}

template <typename Real>
SharedValues::Written SharedValues::write_as() {
  auto* shared = reinterpret_cast<Real*>(shared_);
  const auto* own = reinterpret_cast<const Real*>(own_);
  const auto* base = reinterpret_cast<const Real*>(base_.data());
  const auto* first = reinterpret_cast<const Real*>(first_.data());
  Written written;
  for (std::size_t i = 0; i < bytes_ / sizeof(Real); ++i) {
    if (own[i] == base[i]) continue;
    const Real now = load(shared + i);
    const Real next = now == base[i] ? own[i] : now + (own[i] - base[i]);
    std::atomic_ref(shared[i]).store(next, std::memory_order_relaxed);
    ++written.numbers;
    written.conflicts += now != first[i] ? 1 : 0;
  }
  return written;
}

void SharedValues::read() {
  read_again();
  first_ = base_;
}
void SharedValues::read_again() { is_double_ ? read_as<double>() : read_as<float>(); }
SharedValues::Written SharedValues::write() { return is_double_ ? write_as<double>() : write_as<float>(); }

}  // namespace hocket
