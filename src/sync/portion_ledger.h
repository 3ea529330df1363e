#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace hocket {

// Who computes which portion of one evaluation, and what came out. Portions go to free workers in order; when
// all have gone out, those still under way go out again, as backups, to up to kMaxHolders workers. The first
// result of a portion counts. A value type.
class PortionLedger {
 public:
  static constexpr std::size_t kMaxHolders = 3;

  explicit PortionLedger(int portions) : portions_(static_cast<std::size_t>(portions)) {}

  int portions() const { return static_cast<int>(portions_.size()); }
  std::optional<int> take(int worker);  // What this worker computes next, if anything.
  void finish(int worker, int portion, double value);
  void release(int worker);  // It will not finish what it has.

  bool is_complete() const { return finished_ == portions_.size(); }
  double total() const;  // Of the values, added up in the order of the portions.
  std::int64_t backups() const { return backups_; }

 private:
  struct Portion {
    std::vector<int> holders{};  // Workers that compute it.
    std::optional<double> value{};
  };

  std::vector<Portion> portions_;
  std::size_t finished_ = 0;
  std::int64_t backups_ = 0;
};

}  // namespace hocket
