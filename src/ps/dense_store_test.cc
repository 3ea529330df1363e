#include "ps/dense_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "nn/update_spec.h"
#include "ps/test_payload.h"
#include "tensor/kernels/update.h"
#include "tensor/reference/update.h"

namespace hocket {
namespace {

constexpr std::string_view kRules[] = {"sgd", "momentum", "nesterov", "adagrad", "adam", "adamw"};

template <typename T>
constexpr DType kDType = sizeof(T) == 4 ? DType::f32 : DType::f64;

template <typename T>
std::vector<T> random_values(std::size_t count, std::uint64_t seed) {
  Rng rng{seed, count};
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(rng.uniform(-1, 1));
  return values;
}

template <typename T>
Init init_of(std::string_view rule, const std::vector<T>& values, std::vector<Segment> segments) {
  Init init;
  init.spec.dtype = kDType<T>;
  init.spec.optimizer.rule = rule;
  init.spec.segments = std::move(segments);
  init.values = payload(values);
  return init;
}

// The update of the training step on the whole range at once, after a plain sum from left to right.
template <typename T>
class Serial {
 public:
  Serial(std::string_view rule, std::vector<T> values, double decay, bool is_naive)
      : values_(std::move(values)), first_(values_.size()), second_(values_.size()) {
    UpdateSpec spec = update_spec_of({.rule = std::string(rule)});
    spec.count = static_cast<std::int64_t>(values_.size());
    spec.decay = decay;
    spec.dtype = kDType<T>;
    slots_ = static_cast<std::size_t>(spec.slots());
    kernel_ = is_naive ? nullptr : kernel::make_update(spec);
    if (!kernel_) kernel_ = reference::make_update(spec);
  }

  void apply(const std::vector<std::vector<T>>& gradients, const Hyper& hyper) {
    std::vector<T> sum = gradients.front();
    for (std::size_t g = 1; g < gradients.size(); ++g) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradients[g][i];
    }
    double numbers[] = {hyper.learning_rate, hyper.bias_correction1, hyper.bias_correction2, hyper.divisor};
    const auto bytes = [](auto* p) { return reinterpret_cast<std::byte*>(p); };
    std::byte* const in[] = {bytes(values_.data()), bytes(sum.data()), bytes(numbers), bytes(first_.data()),
                             bytes(second_.data())};
    kernel_->run(std::span(in).first(3 + slots_), {}, nullptr);
  }
  const std::vector<T>& values() const { return values_; }
  std::vector<T> state() const {
    std::vector<T> all;
    if (slots_ > 0) all.insert(all.end(), first_.begin(), first_.end());
    if (slots_ > 1) all.insert(all.end(), second_.begin(), second_.end());
    return all;
  }

 private:
  std::vector<T> values_, first_, second_;
  std::size_t slots_;
  std::unique_ptr<Kernel> kernel_;
};

template <typename T>
void apply(Store& store, const std::vector<std::vector<T>>& gradients, const Hyper& hyper,
           const std::vector<double>& weights = {}) {
  std::vector<Push> pushes(gradients.size());
  std::vector<WeightedPush> terms;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    pushes[i].values = payload(gradients[i]);
    ASSERT_TRUE(store.fits(pushes[i]));
    terms.push_back({&pushes[i], weights.empty() ? 1 : weights[i]});
  }
  store.apply(terms, hyper);
}

template <typename T>
std::vector<std::vector<T>> random_gradients(std::size_t terms, std::size_t count, std::uint64_t seed) {
  std::vector<std::vector<T>> gradients;
  for (std::size_t i = 0; i < terms; ++i) gradients.push_back(random_values<T>(count, seed + i));
  return gradients;
}

template <typename T>
void expect_same_bits_as_the_step(std::string_view rule, std::size_t count, std::size_t terms) {
  const std::vector<T> initial = random_values<T>(count, 1);
  const auto all = static_cast<std::int64_t>(count);
  const auto store = make_store(init_of(rule, initial, {{0, all, 0.01}}));
  Serial<T> serial(rule, initial, 0.01, false);
  for (std::int64_t step = 0; step < 3; ++step) {
    const auto gradients = random_gradients<T>(terms, count, 10 * static_cast<std::uint64_t>(step + 1));
    const Hyper hyper = hyper_at({.rule = std::string(rule)}, 0.05, step);
    apply(*store, gradients, hyper);
    serial.apply(gradients, hyper);
  }
  EXPECT_EQ(elements<T>(store->read({})), serial.values()) << rule << " " << count << " x" << terms;
  EXPECT_EQ(elements<T>(store->state({})), serial.state()) << rule << " " << count << " x" << terms;
}

TEST(DenseStore, LeavesTheBitsOfTheTrainingStep) {
  for (const std::string_view rule : kRules) {
    for (const std::size_t count : {1, 17, 4096, 4097, 10'000}) {
      for (const std::size_t terms : {1, 2, 3, 5}) {
        expect_same_bits_as_the_step<float>(rule, count, terms);
        expect_same_bits_as_the_step<double>(rule, count, terms);
      }
    }
  }
}

TEST(DenseStore, AgreesWithTheNaiveReferenceForAnyWeights) {
  for (const std::string_view rule : kRules) {
    for (const std::vector<double>& weights :
         {std::vector<double>{1, 1}, {1.5, 1.5}, {0.5, 2}, {1, 0.25, 3}}) {
      const std::size_t count = 5000;
      const std::vector<float> initial = random_values<float>(count, 1);
      auto gradients = random_gradients<float>(weights.size(), count, 7);
      const auto store = make_store(init_of(rule, initial, {{0, count, 0.02}}));
      Serial<float> serial(rule, initial, 0.02, true);
      apply(*store, gradients, {0.1, 0.1, 0.001, 2}, weights);
      for (std::size_t g = 0; g < gradients.size(); ++g) {
        for (float& x : gradients[g]) x = static_cast<float>(x * weights[g]);
      }
      serial.apply(gradients, {0.1, 0.1, 0.001, 2});
      const std::vector<float> found = elements<float>(store->read({}));
      for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(found[i], serial.values()[i], 1e-5) << rule;
    }
  }
}

TEST(DenseStore, DecaysByTheSegmentAndAddsSums) {
  const std::vector<double> initial = random_values<double>(30, 3);
  const std::vector<std::vector<double>> gradients = random_gradients<double>(2, 30, 4);
  const auto store =
      make_store(init_of("sgd", initial, {{0, 10, 0.5}, {10, 10, 0}, {20, 10, 0, /*is_sum=*/true}}));
  apply(*store, gradients, {0.1, 1, 1, 4}, {3, 3});
  const std::vector<double> found = elements<double>(store->read({}));
  for (std::size_t i = 0; i < 30; ++i) {
    const double sum = 3 * (gradients[0][i] + gradients[1][i]);
    const double decay = i < 10 ? 0.5 * initial[i] : 0;
    const double expected = i < 20 ? initial[i] - 0.1 * (sum / 4 + decay) : initial[i] + sum;
    EXPECT_NEAR(found[i], expected, 1e-12) << i;
  }
}

TEST(DenseStore, TakesGradientsThatLieBetweenElements) {
  const std::vector<float> initial = random_values<float>(100, 3), gradient = random_values<float>(100, 4);
  std::vector<std::byte> shifted(401);
  std::memcpy(shifted.data() + 1, gradient.data(), 400);
  const auto store = make_store(init_of("sgd", initial, {{0, 100}}));
  const auto other = make_store(init_of("sgd", initial, {{0, 100}}));
  Push push;
  push.values.bytes = std::span(shifted).subspan(1);
  const WeightedPush term{&push, 1};
  store->apply(std::span(&term, 1), {0.1, 1, 1, 1});
  apply<float>(*other, {gradient}, {0.1, 1, 1, 1});
  EXPECT_EQ(elements<float>(store->read({})), elements<float>(other->read({})));
}

TEST(DenseStore, ContinuesFromWhatWasSavedOrGiven) {
  const std::vector<float> initial = random_values<float>(5000, 1);
  const auto gradients = random_gradients<float>(2, 5000, 2);
  const Hyper hyper{0.01, 0.1, 0.001, 1};
  const auto original = make_store(init_of("adam", initial, {{0, 5000}}));
  apply(*original, gradients, hyper);

  Init blank = init_of<float>("adam", {}, {{0, 5000}});
  const auto restored = make_store(blank);
  restored->restore(original->save());
  blank.values = original->read({});
  blank.state = original->state({});
  const auto given = make_store(blank);
  for (const auto& store : {original.get(), restored.get(), given.get()}) apply(*store, gradients, hyper);
  EXPECT_EQ(restored->save(), original->save());
  EXPECT_EQ(given->save(), original->save());
}

TEST(DenseStore, RefusesWhatDoesNotFit) {
  const std::vector<float> values = random_values<float>(10, 1);
  EXPECT_THROW(make_store(init_of("sgd", values, {{0, 11}})), NetError);
  EXPECT_THROW(make_store(init_of("sgd", values, {{0, 4}, {5, 5}})), NetError);
  EXPECT_THROW(make_store(init_of("sgd", values, {{0, -1}, {-1, 11}})), NetError);
  EXPECT_THROW(make_store(init_of("speed", values, {{0, 10}})), NetError);
  Init init = init_of("adam", values, {{0, 10}});
  init.state = payload(values);  // Adam keeps two.
  EXPECT_THROW(make_store(init), NetError);
  init.state = {};
  init.spec.dtype = DType::i32;
  EXPECT_THROW(make_store(init), NetError);

  const auto store = make_store(init_of("adam", values, {{0, 10}}));
  const std::vector<std::byte> saved = store->save();
  for (std::size_t size = 0; size < saved.size(); ++size)
    EXPECT_THROW(store->restore(std::span(saved).first(size)), NetError);
  Push push;
  push.values = payload(random_values<float>(9, 1));
  EXPECT_FALSE(store->fits(push));
}

}  // namespace
}  // namespace hocket
