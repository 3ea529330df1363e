// Asynchronous: every gradient is an update when it comes, and whatever is there may be read.
#include "base/error.h"
#include "sync/consistencies.h"

namespace hocket {
namespace {

class Asp final : public Consistency {
 public:
  explicit Asp(double weight) : weight_(weight) {}

  Verdict on_push(const Arrival& arrival, std::int64_t) override { return {{{arrival.serial, weight_}}, {}}; }
  bool may_read(int, std::int64_t, std::int64_t) const override { return true; }

  std::vector<std::byte> save() const override { return {}; }
  void restore(std::span<const std::byte> bytes) override {
    if (!bytes.empty()) throw NetError("the state of ps:asp is empty, found {} bytes", bytes.size());
  }

 private:
  double weight_;
};

}  // namespace

std::unique_ptr<Consistency> make_asp(double weight) { return std::make_unique<Asp>(weight); }

}  // namespace hocket
