// Workers that are picked at random to begin or end a batch, at a server without sockets.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sync/discipline.h"

namespace hocket {
namespace {

class Scene {
 public:
  Scene(std::string_view text, int workers)
      : make_(make_consistency(Discipline::parse(text), workers)),
        consistency_(make_()),
        workers_(static_cast<std::size_t>(workers)) {}

  // One worker goes on, if it may. Whether it could.
  bool advance(std::size_t pick) {
    const auto w = static_cast<int>(pick % workers_.size());
    State& worker = workers_[pick % workers_.size()];
    if (!worker.is_busy) {
      if (!consistency_->may_read(w, worker.clock, version_)) return false;
      worker.is_busy = true;
      worker.version = version_;
      widest_ = std::max(widest_, worker.clock - slowest());
      return true;
    }
    worker.is_busy = false;
    take(consistency_->on_push({next_serial_++, w, worker.clock++, worker.version}, version_));
    return true;
  }

  void replace_by_copy() {
    auto copy = make_();
    copy->restore(consistency_->save());
    consistency_ = std::move(copy);
  }

  std::int64_t slowest() const {
    return std::min_element(workers_.begin(), workers_.end(),
                            [](const State& a, const State& b) { return a.clock < b.clock; })
        ->clock;
  }
  std::int64_t widest() const { return widest_; }
  std::int64_t version() const { return version_; }
  std::int64_t pushed() const { return next_serial_; }
  std::int64_t ended() const { return static_cast<std::int64_t>(used_.size()); }
  const std::vector<Verdict>& updates() const { return updates_; }
  // Everything that came before the last update, which is one of those that came with it, is in one or
  // dropped.
  bool has_used_all() const {
    std::int64_t last = -1;
    for (const Verdict::Term& term : updates_.back().update) last = std::max(last, term.serial);
    return std::distance(used_.begin(), used_.upper_bound(last)) == last + 1;
  }

 private:
  struct State {
    std::int64_t clock = 0;
    std::int64_t version = 0;
    bool is_busy = false;
  };

  void take(const Verdict& verdict) {
    for (const Verdict::Term& term : verdict.update) use(term.serial);
    for (const std::int64_t serial : verdict.dropped) use(serial);
    if (verdict.update.empty()) return;
    updates_.push_back(verdict);
    ++version_;
  }
  void use(std::int64_t serial) {
    RC_ASSERT(serial >= 0 && serial < next_serial_);
    RC_ASSERT(used_.insert(serial).second);
  }

  MakeConsistency make_;
  std::unique_ptr<Consistency> consistency_;
  std::vector<State> workers_;
  std::int64_t version_ = 0, next_serial_ = 0, widest_ = 0;
  std::set<std::int64_t> used_;
  std::vector<Verdict> updates_;
};

std::vector<std::uint8_t> random_picks() { return *rc::gen::arbitrary<std::vector<std::uint8_t>>(); }
int random_workers() { return *rc::gen::inRange(1, 9); }

// In the given order, then in turns until every worker has done `clocks` batches.
void run(Scene& scene, const std::vector<std::uint8_t>& picks, int workers, std::int64_t clocks) {
  for (const std::uint8_t pick : picks) {
    if (pick % 16 == 7) scene.replace_by_copy();
    scene.advance(pick / 16);
  }
  for (int rounds = 0; scene.slowest() < clocks; ++rounds) {
    RC_ASSERT(rounds < 10'000);
    for (int w = 0; w < workers; ++w) scene.advance(static_cast<std::size_t>(w));
  }
}

void expect_same_updates(const Scene& a, const Scene& b) {
  RC_ASSERT(a.updates().size() == b.updates().size());
  for (std::size_t u = 0; u < a.updates().size(); ++u) {
    RC_ASSERT(a.updates()[u].dropped == b.updates()[u].dropped);
    RC_ASSERT(std::equal(
        a.updates()[u].update.begin(), a.updates()[u].update.end(), b.updates()[u].update.begin(),
        b.updates()[u].update.end(),
        [](const auto& x, const auto& y) { return x.serial == y.serial && x.weight == y.weight; }));
  }
}

void expect_equal(const std::string& one, const std::string& other) {
  const int workers = random_workers();
  const auto picks = random_picks();
  const auto filled = [&](std::string text) {
    const std::size_t at = text.find('P');
    return at == std::string::npos ? text : text.replace(at, 1, std::to_string(workers));
  };
  Scene a(filled(one), workers), b(filled(other), workers);
  run(a, picks, workers, 20);
  run(b, picks, workers, 20);
  expect_same_updates(a, b);
}

RC_GTEST_PROP(KOfN, WaitingForAllIsBsp, ()) { expect_equal("ps:kofn,k=P", "ps:bsp"); }
RC_GTEST_PROP(Ssp, WithoutStalenessIsBsp, ()) { expect_equal("ps:ssp,s=0", "ps:bsp"); }
RC_GTEST_PROP(Ssp, WithoutBoundIsAsp, ()) { expect_equal("ps:ssp,s=inf,scale=1", "ps:asp,scale=1"); }
RC_GTEST_PROP(Downpour, OfEveryBatchIsAsp, ()) { expect_equal("downpour", "ps:asp"); }

RC_GTEST_PROP(Ssp, NobodyRunsFurtherAhead, ()) {
  const int workers = random_workers();
  const int s = *rc::gen::inRange(0, 6);
  Scene scene("ps:ssp,s=" + std::to_string(s), workers);
  run(scene, random_picks(), workers, 20);
  RC_ASSERT(scene.widest() <= s);
  RC_ASSERT(scene.ended() == scene.pushed());
}

RC_GTEST_PROP(SoftSync, UsesExactlySoManyGradients, ()) {
  const int workers = random_workers();
  const int n = *rc::gen::inRange(1, workers + 1);
  const auto count = static_cast<std::int64_t>(workers / n);
  Scene scene("ps:softsync,n=" + std::to_string(n), workers);
  run(scene, random_picks(), workers, 20);
  for (const Verdict& verdict : scene.updates())
    RC_ASSERT(static_cast<std::int64_t>(verdict.update.size()) == count);
  RC_ASSERT(scene.pushed() / count == scene.version());
  RC_ASSERT(scene.ended() == scene.version() * count);
}

RC_GTEST_PROP(KOfN, NothingIsLostOrUsedTwice, ()) {
  const int workers = random_workers();
  const int k = *rc::gen::inRange(1, workers + 1);
  const bool merges = *rc::gen::arbitrary<bool>();
  Scene scene(fmt::format("ps:kofn,k={},late={}", k, merges ? "merge" : "drop"), workers);
  run(scene, random_picks(), workers, 20);
  for (const Verdict& verdict : scene.updates()) {
    double total = 0;
    for (const Verdict::Term& term : verdict.update) total += term.weight;
    RC_ASSERT(static_cast<int>(verdict.update.size()) >= k);
    RC_ASSERT(std::abs(total - workers) < 1e-9);
  }
  RC_ASSERT(scene.has_used_all());
}

RC_GTEST_PROP(Bsp, EveryUpdateIsOneBatch, ()) {
  const int workers = random_workers();
  Scene scene("ps:bsp", workers);
  run(scene, random_picks(), workers, 20);
  for (const Verdict& verdict : scene.updates()) {
    RC_ASSERT(static_cast<int>(verdict.update.size()) == workers);
    for (const Verdict::Term& term : verdict.update) RC_ASSERT(term.weight == 1);
  }
  RC_ASSERT(scene.widest() == 0);
  RC_ASSERT(scene.has_used_all());
}

}  // namespace
}  // namespace hocket
