#include "train/batch_rows.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "data/loader.h"
#include "ps/table_store.h"
#include "train/session.h"

namespace hocket {
namespace {

TrainOptions options_for(std::string model, std::string data, std::string rule) {
  TrainOptions options;
  options.model = std::move(model);
  options.data = std::move(data);
  options.optimizer.rule = std::move(rule);
  options.batch = 24;
  options.learning_rate = 0.1;
  return options;
}

TEST(BatchRows, NumbersTheRowsOfABatchByServer) {
  const SessionData data = open_session_data(options_for("logreg", "synthetic:sparse,samples=100", "sgd"));
  const DataInfo& info = data.train->info();
  const std::size_t columns = field_index(info, "columns"), offsets = field_index(info, "offsets");
  LoaderOptions loading;
  loading.batch = 24;
  Loader loader(*data.train, loading), plain(*data.train, loading);
  BatchRows rows(info, 3);
  for (int step = 0; step < 10; ++step) {
    const Batch& batch = loader.next();
    const Batch& untouched = plain.next();
    rows.compact(batch);
    std::vector<std::uint64_t> ids;
    for (int server = 0; server < 3; ++server) {
      EXPECT_EQ(rows.first(server), static_cast<std::int64_t>(ids.size()));
      for (const std::uint64_t id : rows.ids(server)) {
        EXPECT_EQ(server_of_id(id, 3), server);
        ids.push_back(id);
      }
    }
    EXPECT_EQ(rows.size(), static_cast<std::int64_t>(ids.size()));
    EXPECT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), ids.size());
    EXPECT_LE(rows.size(), compact_info(info, 24).features);
    const auto end = static_cast<std::size_t>(batch.fields[offsets].values<std::int32_t>().back());
    for (std::size_t i = 0; i < end; ++i) {
      const auto row = static_cast<std::size_t>(batch.fields[columns].values<std::int32_t>()[i]);
      ASSERT_EQ(ids.at(row), static_cast<std::uint64_t>(untouched.fields[columns].values<std::int32_t>()[i]));
    }
  }
}

TEST(BatchRows, FindsTheTablesOfAModel) {
  const auto tables = [](const TrainOptions& options) {
    const SessionData data = open_session_data(options);
    std::string text;
    for (const TableUse& table : find_tables(*build_batch_model(options, data.train->info(), Mesh())))
      text += fmt::format("{}:{} ", table.parameter, table.width);
    return text;
  };
  EXPECT_EQ(tables(options_for("logreg", "synthetic:sparse,samples=50", "sgd")), "linear.weight:1 ");
  EXPECT_EQ(tables(options_for("deepfm", "synthetic:ctr,samples=50", "sgd")),
            "first.weight:1 second.weight:8 ");
  EXPECT_EQ(tables(options_for("mlp", "synthetic:1x6x6:3:64", "sgd")), "");
  EXPECT_EQ(compact_model("logreg,bias=0"), "logreg,bias=0");
  EXPECT_EQ(compact_model("deepfm,width=4,sparse=1"), "deepfm,width=4,sparse=0");
}

// A worker whose tables are on servers: pulls rows to its blocks, computes, pushes their gradients.
class Remote {
 public:
  Remote(const TrainOptions& options, const DataInfo& info, Session& whole)
      : options_(options),
        info_(info),
        rows_(info, kServers),
        session_(
            compacted(options), compact_info(info, options.batch), team_,
            [&](std::size_t bytes) { return arenas_.emplace_back(bytes).bytes(); }, false),
        slot_(session_.program().training().make_slot()) {
    for (const TableUse& table : find_tables(session_.model())) {
      for (int server = 0; server < kServers; ++server) add_table(table, server, whole);
    }
    copy_others(whole);
    session_.program().training().bind(slot_, "dloss", dloss_.bytes().data());
    session_.program().training().bind(slot_, "key", reinterpret_cast<std::byte*>(key_));
  }

  void step(const Batch& batch, const Hyper& hyper) {
    rows_.compact(batch);
    for (const Table& table : tables_) {
      const Payload values = table.store->read(ids_of(table));
      const std::span<std::byte> block = part_of(session_.memory().parameters, table);
      ASSERT_EQ(values.bytes.size(), block.size());
      std::copy(values.bytes.begin(), values.bytes.end(), block.begin());
    }
    dloss_.values<float>()[0] = static_cast<float>(1.0 / static_cast<double>(batch.global_count));
    Executable& executable = session_.program().training();
    bind_batch(executable, slot_, info_, batch);
    executable.run(Phase::forward, slot_, session_.memory().bindings());
    executable.run(Phase::backward, slot_, session_.memory().bindings());
    for (const Table& table : tables_) {
      Push push;
      push.ids = ids_of(table);
      push.values.bytes = part_of(session_.memory().gradients, table);
      apply(*table.store, push, hyper);
    }
    for (const auto& [name, store] : dense_) {
      Push push;
      const Tensor gradient =
          view_of(session_.memory().gradients, session_.program().layouts().gradients.at(name));
      push.values.bytes = gradient.bytes();
      apply(*store, push, hyper);
      const Tensor own =
          view_of(session_.memory().parameters, session_.program().layouts().parameters.at(name));
      const Payload values = store->read({});
      std::copy(values.bytes.begin(), values.bytes.end(), own.bytes().begin());
    }
  }

  void expect_same(Session& whole, double tolerance) {
    for (const Table& table : tables_) {
      const Tensor expected =
          view_of(whole.memory().parameters, whole.program().layouts().parameters.at(table.use.parameter));
      const Payload found = table.store->read(table.all);
      const std::size_t row = static_cast<std::size_t>(table.use.width) * sizeof(float);
      const std::span<const std::uint64_t> ids = table.all.values<std::uint64_t>();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto* a = reinterpret_cast<const float*>(found.bytes.data() + i * row);
        const auto* b = reinterpret_cast<const float*>(expected.bytes().data() + ids[i] * row);
        for (std::int64_t j = 0; j < table.use.width; ++j)
          ASSERT_NEAR(a[j], b[j], tolerance) << table.use.parameter << " row " << ids[i];
      }
    }
  }

 private:
  static constexpr int kServers = 3;
  struct Table {
    TableUse use;
    int server;
    Payload all;  // Ids that hash to it.
    std::unique_ptr<Store> store;
  };

  static TrainOptions compacted(TrainOptions options) {
    options.model = compact_model(options.model);
    return options;
  }

  static void apply(Store& store, const Push& push, const Hyper& hyper) {
    ASSERT_TRUE(store.fits(push));
    const WeightedPush term{&push, 1};
    store.apply(std::span(&term, 1), hyper);
  }

  void add_table(const TableUse& use, int server, Session& whole) {
    const Tensor initial =
        view_of(whole.memory().parameters, whole.program().layouts().parameters.at(use.parameter));
    const std::size_t row = static_cast<std::size_t>(use.width) * sizeof(float);
    std::vector<std::uint64_t> ids;
    std::vector<std::byte> values;
    for (std::int64_t id = 0; id < info_.features; ++id) {
      if (server_of_id(static_cast<std::uint64_t>(id), kServers) != server) continue;
      ids.push_back(static_cast<std::uint64_t>(id));
      const auto from = initial.bytes().subspan(static_cast<std::size_t>(id) * row, row);
      values.insert(values.end(), from.begin(), from.end());
    }
    Init init;
    init.spec.optimizer = options_.optimizer;
    init.spec.width = use.width;
    init.values = Payload::copy_of(encode_table(init.spec, ids, values, {}));
    tables_.push_back({use, server, Payload::copy_of(std::as_bytes(std::span(ids))), make_store(init)});
  }

  void copy_others(Session& whole) {
    for (const ArenaLayout::Entry& entry : session_.program().layouts().parameters.entries()) {
      const bool is_table = std::any_of(tables_.begin(), tables_.end(), [&](const Table& table) {
        return table.use.parameter == entry.name;
      });
      if (is_table) continue;
      const Tensor from =
          view_of(whole.memory().parameters, whole.program().layouts().parameters.at(entry.name));
      Init init;
      init.spec.optimizer = options_.optimizer;
      const double decay = entry.type.shape.rank() >= 2 ? options_.optimizer.weight_decay : 0;
      init.spec.segments = {{0, entry.type.shape.count(), decay}};
      init.values = Payload::copy_of(from.bytes());
      dense_.emplace_back(entry.name, make_store(init));
      std::copy(from.bytes().begin(), from.bytes().end(),
                view_of(session_.memory().parameters, entry).bytes().begin());
    }
  }

  Payload ids_of(const Table& table) const { return {std::as_bytes(rows_.ids(table.server)), nullptr}; }
  std::span<std::byte> part_of(const Arena& arena, const Table& table) const {
    const ArenaLayout& layout = session_program().layouts().parameters;
    const std::size_t row = static_cast<std::size_t>(table.use.width) * sizeof(float);
    return arena.bytes().subspan(
        layout.at(table.use.parameter).offset + static_cast<std::size_t>(rows_.first(table.server)) * row,
        rows_.ids(table.server).size() * row);
  }
  const Program& session_program() const { return const_cast<Session&>(session_).program(); }

  TrainOptions options_;
  const DataInfo& info_;
  BatchRows rows_;
  Team team_;
  std::vector<Arena> arenas_;
  Session session_;
  Slot slot_;
  std::vector<Table> tables_;
  std::vector<std::pair<std::string, std::unique_ptr<Store>>> dense_;
  Tensor dloss_{DType::f32, {}};
  std::int64_t key_[3] = {0, 0, 0};
};

void expect_the_weights_of_one_process(const TrainOptions& given, double tolerance = 0) {
  const SessionData data = open_session_data(given);
  const DataInfo& info = data.train->info();
  const TrainOptions options = with_defaults(given, info);
  Team team;
  Session whole(options, info, team);
  Remote remote(options, info, whole);
  Executable& executable = whole.program().training();
  Slot slot = executable.make_slot();
  Tensor dloss(DType::f32, {});
  std::int64_t key[3] = {0, 0, 0};
  Hyper hyper;
  executable.bind(slot, "dloss", dloss.bytes().data());
  executable.bind(slot, "key", reinterpret_cast<std::byte*>(key));
  executable.bind(slot, "hyper", reinterpret_cast<std::byte*>(&hyper));
  LoaderOptions loading;
  loading.batch = options.batch;
  Loader loader(*data.train, loading), other(*data.train, loading);
  for (std::int64_t step = 0; step < 12; ++step) {
    const Batch& batch = loader.next();
    hyper = hyper_at(options.optimizer, options.learning_rate, step);
    dloss.values<float>()[0] = static_cast<float>(1.0 / static_cast<double>(batch.global_count));
    bind_batch(executable, slot, info, batch);
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
      executable.run(phase, slot, whole.memory().bindings());
    remote.step(other.next(), hyper);
  }
  remote.expect_same(whole, tolerance);
}

TEST(BatchRows, TablesOnServersEndWithTheWeightsOfOneProcess) {
  const std::string sparse = "synthetic:sparse,samples=100,features=3000",
                    ctr = "synthetic:ctr,samples=96,buckets=900";
  expect_the_weights_of_one_process(options_for("logreg", sparse, "sgd"));
  expect_the_weights_of_one_process(options_for("logreg", sparse, "adagrad"));
  expect_the_weights_of_one_process(options_for("svm", sparse, "sgd"));
  expect_the_weights_of_one_process(options_for("deepfm,hidden=8,sparse=0", ctr, "adagrad"));
  // One process adds the gradients of a row in another order.
  expect_the_weights_of_one_process(options_for("deepfm,hidden=8", ctr, "adam"), 1e-5);
}

}  // namespace
}  // namespace hocket
