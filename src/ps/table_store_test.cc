#include "ps/table_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "ps/test_payload.h"

namespace hocket {
namespace {

using Ids = std::vector<std::uint64_t>;

Init table_of(std::string_view rule, std::int64_t width, DType dtype = DType::f32, double spread = 0.1) {
  Init init;
  init.spec.dtype = dtype;
  init.spec.optimizer.rule = rule;
  init.spec.width = width;
  init.spec.seed = 7;
  init.spec.spread = spread;
  return init;
}

template <typename T>
Push push_of(const Ids& ids, const std::vector<T>& values) {
  Push push;
  push.ids = payload(ids);
  push.values = payload(values);
  return push;
}

template <typename T>
struct Gradient {
  Ids ids;
  std::vector<T> values;
};

template <typename T>
Gradient<T> random_gradient(std::size_t rows, std::size_t width, std::uint64_t seed) {
  Rng rng{seed, rows};
  Gradient<T> gradient;
  for (std::size_t i = 0; i < rows; ++i) gradient.ids.push_back(rng.below(200) << 40);
  for (std::size_t i = 0; i < rows * width; ++i)
    gradient.values.push_back(static_cast<T>(rng.uniform(-1, 1)));
  return gradient;
}

// Each row is a dense store of its own, updated when a gradient names it: the rule, one id at a time.
template <typename T>
class Oracle {
 public:
  Oracle(std::string_view rule, Store& untouched) : rule_(rule), untouched_(untouched) {}

  void apply(const std::vector<Gradient<T>>& terms, const std::vector<double>& weights, std::size_t width,
             const Hyper& hyper) {
    std::map<std::uint64_t, std::vector<Push>> pushes;
    std::map<std::uint64_t, std::vector<double>> row_weights;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      for (std::size_t i = 0; i < terms[t].ids.size(); ++i) {
        const auto* from = terms[t].values.data() + i * width;
        Push push;
        push.values = payload(std::vector<T>(from, from + width));
        pushes[terms[t].ids[i]].push_back(push);
        row_weights[terms[t].ids[i]].push_back(weights[t]);
      }
    }
    for (const auto& [id, gradients] : pushes) {
      std::vector<WeightedPush> weighted;
      for (std::size_t i = 0; i < gradients.size(); ++i)
        weighted.push_back({&gradients[i], row_weights[id][i]});
      row(id, width).apply(weighted, hyper);
    }
  }
  const std::map<std::uint64_t, std::unique_ptr<Store>>& rows() const { return rows_; }

 private:
  Store& row(std::uint64_t id, std::size_t width) {
    std::unique_ptr<Store>& store = rows_[id];
    if (!store) {
      Init init;
      init.spec.dtype = sizeof(T) == 4 ? DType::f32 : DType::f64;
      init.spec.optimizer.rule = rule_;
      init.spec.segments = {{0, static_cast<std::int64_t>(width)}};
      init.values = untouched_.read(payload(Ids{id}));
      store = make_store(init);
    }
    return *store;
  }

  std::string rule_;
  Store& untouched_;
  std::map<std::uint64_t, std::unique_ptr<Store>> rows_;
};

template <typename T>
void expect_rows_as_dense_stores(std::string_view rule, std::size_t width,
                                 const std::vector<double>& weights) {
  const Init init =
      table_of(rule, static_cast<std::int64_t>(width), sizeof(T) == 4 ? DType::f32 : DType::f64);
  const auto table = make_store(init), untouched = make_store(init);
  Oracle<T> oracle(rule, *untouched);
  for (std::int64_t step = 0; step < 3; ++step) {
    std::vector<Gradient<T>> terms;
    std::vector<Push> pushes;
    for (std::size_t t = 0; t < weights.size(); ++t) {
      terms.push_back(random_gradient<T>(120, width, 10 * static_cast<std::uint64_t>(step) + t));
      pushes.push_back(push_of(terms.back().ids, terms.back().values));
    }
    std::vector<WeightedPush> weighted;
    for (std::size_t t = 0; t < weights.size(); ++t) {
      ASSERT_TRUE(table->fits(pushes[t]));
      weighted.push_back({&pushes[t], weights[t]});
    }
    const Hyper hyper = hyper_at({.rule = std::string(rule)}, 0.05, step);
    table->apply(weighted, hyper);
    oracle.apply(terms, weights, width, hyper);
  }
  for (const auto& [id, row] : oracle.rows()) {
    ASSERT_EQ(elements<T>(table->read(payload(Ids{id}))), elements<T>(row->read({}))) << rule << " " << id;
    ASSERT_EQ(elements<T>(table->state(payload(Ids{id}))), elements<T>(row->state({}))) << rule << " " << id;
  }
}

TEST(TableStore, UpdatesEachRowAsADenseRangeBitForBit) {
  for (const std::string_view rule : {"sgd", "momentum", "nesterov", "adagrad", "adam", "adamw"}) {
    for (const std::size_t width : {1, 5, 16, 1500}) {
      if (width > 16 && rule != "adam") continue;
      expect_rows_as_dense_stores<float>(rule, width, {1, 1, 1});
      expect_rows_as_dense_stores<double>(rule, width, {1, 1});
    }
  }
}

TEST(TableStore, SumsWithTheirWeights) {
  for (const std::vector<double>& weights : {std::vector<double>{2, 2}, {0.5, 2}}) {
    const auto table = make_store(table_of("sgd", 2, DType::f64, 0));
    const Push a = push_of<double>({1, 2}, {1, 2, 3, 4}), b = push_of<double>({2, 3}, {10, 20, 30, 40});
    const WeightedPush terms[] = {{&a, weights[0]}, {&b, weights[1]}};
    table->apply(terms, {1, 1, 1, 1});
    const double x = weights[0], y = weights[1];
    EXPECT_EQ(elements<double>(table->read(payload(Ids{3, 1, 2, 9}))),
              (std::vector<double>{-30 * y, -40 * y, -x, -2 * x, -3 * x - 10 * y, -4 * x - 20 * y, 0, 0}));
  }
}

TEST(TableStore, ReadingMakesNoRows) {
  const auto table = make_store(table_of("adagrad", 4));
  const std::vector<std::byte> before = table->save();
  const std::vector<float> values = elements<float>(table->read(payload(Ids{5, 6, 5})));
  EXPECT_EQ(table->save(), before);
  EXPECT_TRUE(std::equal(values.begin(), values.begin() + 4, values.begin() + 8));
  EXPECT_FALSE(std::equal(values.begin(), values.begin() + 4, values.begin() + 4));
  for (const float value : values) EXPECT_LE(std::abs(value), 0.1F);
  EXPECT_EQ(elements<float>(table->state(payload(Ids{5}))), (std::vector<float>(4)));
}

TEST(TableStore, ContinuesFromWhatWasSaved) {
  const Init init = table_of("adam", 3);
  const auto original = make_store(init);
  const auto gradient = random_gradient<float>(5000, 3, 1);
  const Push push = push_of(gradient.ids, gradient.values);
  const WeightedPush term{&push, 1};
  original->apply(std::span(&term, 1), {0.1, 0.1, 0.001, 1});

  const auto restored = make_store(init);
  restored->restore(original->save());
  Init given = init;
  const std::vector<std::byte> saved = original->save();
  given.values = Payload::copy_of(saved);
  const auto made = make_store(given);
  for (const auto& store : {original.get(), restored.get(), made.get()})
    store->apply(std::span(&term, 1), {0.1, 0.19, 0.002, 1});
  EXPECT_EQ(restored->save(), original->save());
  EXPECT_EQ(made->save(), original->save());
}

TEST(TableStore, BeginsWithTheRowsOfACheckpoint) {
  Init init = table_of("adagrad", 2, DType::f64);
  const Ids ids{4, 9};
  const std::vector<double> values{1, 2, 3, 4}, state{5, 6, 7, 8};
  const auto bytes = [](const std::vector<double>& v) { return std::as_bytes(std::span(v)); };
  init.values = Payload::copy_of(encode_table(init.spec, ids, bytes(values), bytes(state)));
  const auto table = make_store(init);
  const Payload found = table->read(payload(ids)), found_state = table->state(payload(ids));
  EXPECT_EQ(elements<double>(found), values);
  EXPECT_EQ(elements<double>(found_state), state);
  EXPECT_EQ(table->save(), encode_table(init.spec, ids, bytes(values), bytes(state)));

  const Payload all = table->state({});
  EXPECT_TRUE(std::ranges::equal(all.bytes, table->save()));
  Ids decoded;
  decode_table(init.spec, all.bytes, [&](std::uint64_t id, std::span<const std::byte> payload) {
    decoded.push_back(id);
    EXPECT_EQ(payload.size(), 4 * sizeof(double));
  });
  EXPECT_EQ(decoded, ids);
  EXPECT_THROW(decode_table(init.spec, all.bytes.first(all.bytes.size() - 1), [](auto, auto) {}), NetError);
  EXPECT_NO_THROW(encode_table(init.spec, ids, bytes(values), {}));
  EXPECT_THROW(encode_table(init.spec, ids, bytes(values), bytes({1})), NetError);
  EXPECT_THROW(encode_table(init.spec, ids, bytes({1, 2, 3}), {}), NetError);
}

TEST(TableStore, RefusesWhatDoesNotFit) {
  EXPECT_THROW(make_store(table_of("sgd", -1)), NetError);
  EXPECT_THROW(make_store(table_of("sgd", std::int64_t{1} << 40)), NetError);
  EXPECT_THROW(make_store(table_of("sgd", 1, DType::f32, -1)), NetError);
  const auto table = make_store(table_of("sgd", 2));
  EXPECT_TRUE(table->fits(push_of<float>({}, {})));
  EXPECT_FALSE(table->fits(push_of<float>({1}, {1})));
  EXPECT_FALSE(table->fits(push_of<float>({}, {1, 2})));
  const Push push = push_of<float>({1, 2}, {1, 2, 3, 4});
  const WeightedPush term{&push, 1};
  table->apply(std::span(&term, 1), {1, 1, 1, 1});
  std::vector<std::byte> saved = table->save();
  for (std::size_t size = 0; size < saved.size(); ++size)
    EXPECT_THROW(table->restore(std::span(saved).first(size)), NetError);
  saved[17 + 16] = std::byte{1};  // The second row's id is that of the first.
  EXPECT_THROW(table->restore(saved), NetError);
}

}  // namespace
}  // namespace hocket
