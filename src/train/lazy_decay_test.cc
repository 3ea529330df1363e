#include "train/lazy_decay.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hocket {
namespace {

constexpr double kDecay = 0.5;
constexpr double kRate = 0.1;
constexpr std::int64_t kRows = 8;
constexpr std::int64_t kNonzeros = 4;

class LazyDecayTest : public testing::Test {
 protected:
  LazyDecayTest() {
    executable().bind(slot_, "dloss", dloss_.bytes().data());
    executable().bind(slot_, "hyper", reinterpret_cast<std::byte*>(&hyper_));
    executable().bind(slot_, "key", reinterpret_cast<std::byte*>(key_));
    dloss_.values<float>()[0] = 1.0F / kRows;
    std::ranges::fill(weights(), 1.0F);
  }

  static TrainOptions options() {
    TrainOptions given;
    given.model = "logreg,bias=0";
    given.data = "synthetic:sparse,samples=64,features=5000,nonzeros=4";
    given.batch = kRows;
    given.optimizer.rule = "sgd";
    return given;
  }

  Executable& executable() { return session_.program().training(); }
  std::span<float> weights() {
    const ArenaLayout::Entry& entry = session_.program().layouts().parameters.entries().front();
    return view_of(session_.memory().parameters, entry).values<float>();
  }

  void step(LazyDecay& lazy) {
    Batch batch = make_batch(data_.train->info(), kRows);
    std::vector<std::int64_t> indices(kRows);
    for (std::int64_t& index : indices) index = next_++ % 64;
    data_.train->gather(indices, 0, batch.fields);
    std::ranges::fill(batch.weight.values<float>(), 1.0F);
    batch.count = batch.global_count = kRows;
    bind_batch(executable(), slot_, data_.train->info(), batch);
    lazy.before_forward(batch, slot_);
    executable().run(Phase::forward, slot_, session_.memory().bindings());
    executable().run(Phase::backward, slot_, session_.memory().bindings());
    lazy.before_update(kRate, batch);
    executable().run(Phase::update, slot_, session_.memory().bindings());
  }

  SessionData data_ = open_session_data(options());
  TrainOptions options_ = with_defaults(options(), data_.train->info());
  Team alone_;
  Session session_{options_, data_.train->info(), alone_};
  Slot slot_ = session_.program().training().make_slot();
  Tensor dloss_{DType::f32, {}};
  Hyper hyper_ = hyper_at(options_.optimizer, kRate, 0);
  std::int64_t key_[3] = {0, 0, 0};
  std::int64_t next_ = 0;
};

TEST_F(LazyDecayTest, TouchesOnlyTheEntriesOfTheBatch) {
  LazyDecay lazy(kDecay, data_.train->info(), session_);
  step(lazy);
  const auto touched = std::ranges::count_if(weights(), [](float w) { return w != 1.0F; });
  EXPECT_GT(touched, 0);
  EXPECT_LE(touched, kRows * kNonzeros);
  lazy.settle();
  const auto kept = static_cast<float>(1 - kRate * kDecay);
  EXPECT_EQ(std::ranges::count(weights(), kept), 5000 - touched);
}

TEST_F(LazyDecayTest, MultipliesOutBelowTheThreshold) {
  LazyDecay lazy(9, data_.train->info(), session_);  // A tenth is left of every step.
  for (int i = 0; i < 12; ++i) {
    step(lazy);
    EXPECT_TRUE(
        std::ranges::all_of(weights(), [](float w) { return std::isfinite(w) && std::abs(w) < 1e4F; }));
  }
  lazy.settle();
  EXPECT_NEAR(*std::ranges::min_element(weights(), {}, [](float w) { return std::abs(w); }), 0, 1e-6);
}

}  // namespace
}  // namespace hocket
