#pragma once

#include <cstdint>
#include <vector>

#include "tensor/arena.h"
#include "tensor/dtype.h"

namespace hocket {

// Real numbers that several threads read and write without locks, each number by a relaxed atomic: what is
// read may hold parts of several updates, and of writes to one number at the same time one survives. One
// object a thread and arena, which must outlive it.
class SharedValues {
 public:
  SharedValues(const Arena& shared, const Arena& own, DType dtype);

  struct Written {
    std::int64_t numbers = 0;
    std::int64_t conflicts = 0;  // Of these, what others have changed since the first read().
  };

  void read();        // All numbers to `own`.
  void read_again();  // The same, where conflicts are counted since the read() before.
  // Writes what `own` has changed since it was read last, as a change of what is there now.
  Written write();

 private:
  template <typename Real>
  void read_as();
  template <typename Real>
  Written write_as();

  std::byte* shared_;
  std::byte* own_;
  std::size_t bytes_;
  bool is_double_;
  std::vector<std::byte> first_;  // As read first,
  std::vector<std::byte> base_;   // and last.
};

}  // namespace hocket
