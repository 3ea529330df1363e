#include "data/loader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include "data/test_files.h"

namespace hocket {
namespace {

// Sample i is the number i; its label is the epoch it was gathered in. Sample `bad` cannot be read.
class CountingDataset final : public Dataset {
 public:
  explicit CountingDataset(std::int64_t size, std::int64_t bad = -1) : bad_(bad) {
    info_.name = "counting";
    info_.task = Task::regression;
    info_.size = size;
    info_.fields = {{"features", DType::f32, {2}}, {"label", DType::f32, {}}};
  }
  const DataInfo& info() const override { return info_; }
  void gather(std::span<const std::int64_t> indices, std::int64_t epoch,
              std::span<const Tensor> out) const override {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] == bad_) throw DataError("sample {} is bad", bad_);
      out[0].values<float>()[2 * i] = static_cast<float>(indices[i]);
      out[1].values<float>()[i] = static_cast<float>(epoch);
    }
    for (const Tensor& tensor : out) zero_rows_from(tensor, static_cast<std::int64_t>(indices.size()));
  }

 private:
  DataInfo info_;
  std::int64_t bad_;
};

std::vector<int> samples_of(const Batch& batch) {
  std::vector<int> samples;
  for (std::int64_t i = 0; i < batch.count; ++i) {
    samples.push_back(static_cast<int>(batch.fields[0].values<float>()[static_cast<std::size_t>(2 * i)]));
  }
  return samples;
}

LoaderOptions options_of(std::int64_t batch, std::uint64_t seed = 1) {
  LoaderOptions options;
  options.batch = batch;
  options.seed = seed;
  return options;
}

TEST(Loader, UnevenSharesMakeUpTheSameBatches) {
  const CountingDataset data(50);
  std::vector<std::unique_ptr<Loader>> loaders;
  for (int rank = 0; rank < 3; ++rank) {
    LoaderOptions options = options_of(10);
    options.rank = rank;
    options.ranks = 3;
    options.rows = 10;
    loaders.push_back(std::make_unique<Loader>(data, options));
  }
  Loader whole(data, options_of(10));
  for (int step = 0; step < 12; ++step) {
    std::vector<int> together;
    std::vector<std::int64_t> counts;
    for (const auto& loader : loaders) {
      const Batch& batch = loader->next();
      EXPECT_EQ(batch.offset, static_cast<std::int64_t>(together.size()));
      for (const int sample : samples_of(batch)) together.push_back(sample);
      counts.push_back(batch.count);
      if (step == 4) loader->set_shares({6, 1, 3});
    }
    EXPECT_EQ(together, samples_of(whole.next())) << step;
    const std::vector<std::int64_t> even{4, 3, 3}, uneven{6, 1, 3};
    EXPECT_EQ(counts, step < 7 ? even : uneven) << step;
  }
}

TEST(Loader, GivesEverySampleOncePerEpoch) {
  const CountingDataset data(10);
  Loader loader(data, options_of(4));
  EXPECT_EQ(loader.batches_per_epoch(), 3);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::set<int> seen;
    for (int i = 0; i < 3; ++i) {
      const Batch& batch = loader.next();
      EXPECT_EQ(batch.epoch, epoch);
      EXPECT_EQ(batch.first, 4 * i);
      for (const int sample : samples_of(batch)) EXPECT_TRUE(seen.insert(sample).second);
    }
    EXPECT_EQ(seen.size(), 10U);
  }
}

TEST(Loader, PadsTheLastBatchWithZeroWeight) {
  const CountingDataset data(10);
  Loader loader(data, options_of(8));
  loader.next();
  const Batch& last = loader.next();
  EXPECT_EQ(last.count, 2);
  const auto weight = last.weight.values<float>();
  EXPECT_EQ(std::accumulate(weight.begin(), weight.end(), 0.0F), 2.0F);
  EXPECT_EQ(weight[1], 1.0F);
  for (std::size_t i = 4; i < 16; ++i) EXPECT_EQ(last.fields[0].values<float>()[i], 0.0F);
}

TEST(Loader, DropsTheLastBatchWhenAsked) {
  const CountingDataset data(10);
  LoaderOptions options = options_of(4);
  options.drop_last = true;
  Loader loader(data, options);
  EXPECT_EQ(loader.batches_per_epoch(), 2);
  loader.next();
  loader.next();
  EXPECT_EQ(loader.position(), (DataPosition{1, 0}));
  EXPECT_EQ(loader.next().epoch, 1);
}

TEST(Loader, KeepsTheOrderOfTheSetWithoutShuffling) {
  const CountingDataset data(5);
  LoaderOptions options = options_of(3);
  options.shuffle = false;
  Loader loader(data, options);
  EXPECT_EQ(samples_of(loader.next()), (std::vector{0, 1, 2}));
  EXPECT_EQ(samples_of(loader.next()), (std::vector{3, 4}));
  EXPECT_EQ(samples_of(loader.next()), (std::vector{0, 1, 2}));
}

RC_GTEST_PROP(Loader, GlobalBatchesAreTheSameForAnyNumberOfRanks, ()) {
  const CountingDataset data(*rc::gen::inRange<std::int64_t>(1, 60));
  const LoaderOptions options =
      options_of(*rc::gen::inRange<std::int64_t>(1, 20), *rc::gen::arbitrary<std::uint64_t>());
  const int ranks = *rc::gen::inRange(2, 6);
  Loader alone(data, options);
  std::vector<std::unique_ptr<Loader>> together;
  for (int rank = 0; rank < ranks; ++rank) {
    LoaderOptions own = options;
    own.rank = rank;
    own.ranks = ranks;
    together.push_back(std::make_unique<Loader>(data, own));
  }
  for (int step = 0; step < 8; ++step) {
    std::vector<int> joined;
    for (const auto& loader : together) {
      const Batch& batch = loader->next();
      RC_ASSERT(batch.count <= loader->capacity());
      RC_ASSERT(batch.offset == static_cast<std::int64_t>(joined.size()));
      const auto samples = samples_of(batch);
      joined.insert(joined.end(), samples.begin(), samples.end());
    }
    const Batch& whole = alone.next();
    RC_ASSERT(joined == samples_of(whole));
    RC_ASSERT(whole.global_count == whole.count);
  }
}

TEST(Loader, PadsBatchesToTheRowsAskedFor) {
  const CountingDataset data(5);
  LoaderOptions options = options_of(5);
  options.rows = 8;
  Loader loader(data, options);
  const Batch& batch = loader.next();
  EXPECT_EQ(loader.capacity(), 8);
  const auto weight = batch.weight.values<float>();
  EXPECT_EQ(std::vector<float>(weight.begin(), weight.end()), (std::vector<float>{1, 1, 1, 1, 1, 0, 0, 0}));
}

TEST(Loader, LeavesAsManyBatchesAloneAsTheCallerKeeps) {
  const CountingDataset data(1000);
  LoaderOptions options = options_of(4);
  options.kept = 3;
  Loader loader(data, options);
  std::deque<std::pair<const Batch*, std::vector<int>>> kept;
  for (int i = 0; i < 200; ++i) {
    const Batch& batch = loader.next();
    kept.emplace_back(&batch, samples_of(batch));
    if (kept.size() > 3) kept.pop_front();
    std::this_thread::yield();
    for (const auto& [own, samples] : kept) EXPECT_EQ(samples_of(*own), samples);
  }
}

TEST(Loader, GoesOnFromAnyPosition) {
  const CountingDataset data(10);
  Loader whole(data, options_of(4));
  for (int step = 0; step < 7; ++step) {
    LoaderOptions options = options_of(4);
    options.start = whole.position();
    Loader resumed(data, options);
    const Batch& expected = whole.next();
    const Batch& found = resumed.next();
    EXPECT_EQ(samples_of(found), samples_of(expected));
    EXPECT_EQ(found.epoch, expected.epoch);
    EXPECT_EQ(resumed.position(), whole.position());
  }
}

TEST(Loader, RethrowsWhatGatheringThrewAfterTheGoodBatches) {
  const CountingDataset data(10, 5);
  LoaderOptions options = options_of(2);
  options.shuffle = false;
  Loader loader(data, options);
  loader.next();
  EXPECT_EQ(samples_of(loader.next()), (std::vector{2, 3}));
  EXPECT_THROW(loader.next(), DataError);
  EXPECT_THROW(loader.next(), DataError);
}

TEST(Loader, RefusesWhatCannotMakeABatch) {
  const CountingDataset empty(0);
  EXPECT_EQ(message_of<DataError>([&] { Loader(empty, options_of(4)); }), "data counting has no samples");
  const CountingDataset few(3);
  EXPECT_THROW(Loader(few, options_of(0)), ConfigError);
  LoaderOptions options = options_of(4);
  options.drop_last = true;
  EXPECT_THROW(Loader(few, options), ConfigError);
}

TEST(AllocationCount, SeesAnAllocation) {
  const std::int64_t before = allocation_count();
  const auto memory = std::make_unique<std::string>(100, 'x');
  EXPECT_GT(allocation_count(), before);
}

TEST(Loader, AllocatesNothingAfterItsFirstRound) {
  const CountingDataset data(64);
  Loader loader(data, options_of(8));
  for (int i = 0; i < 8; ++i) loader.next();
  const std::int64_t before = allocation_count();
  for (int i = 0; i < 100; ++i) loader.next();
  EXPECT_EQ(allocation_count(), before);
}

TEST(Loader, StopsWhileItIsFull) {
  const CountingDataset data(64);
  for (int i = 0; i < 20; ++i) Loader(data, options_of(8));
}

}  // namespace
}  // namespace hocket
