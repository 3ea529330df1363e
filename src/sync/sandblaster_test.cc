#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sync/sandblaster_world.h"
#include "sync/test_logistic.h"

namespace hocket {
namespace {

SandblasterWorldOptions world_of(const TestLogistic& problem, int servers, int workers) {
  SandblasterWorldOptions options;
  options.sandblaster.servers = servers;
  options.sandblaster.workers = workers;
  options.length = problem.features();
  return options;
}

SandblasterWorld::Evaluate evaluation_of(const TestLogistic& problem) {
  return [&](std::span<const double> point, int portion, int portions, std::span<double> gradient) {
    return problem.evaluate(point, portion, portions, gradient);
  };
}

struct Minimum {
  std::vector<double> point;
  double value = 0;
  int iterations = 0;
};

Minimum serial_minimum(const TestLogistic& problem, const SandblasterOptions& options) {
  Lbfgs lbfgs(options.lbfgs);
  LocalVectors vectors(problem.features(), lbfgs_vectors(options.lbfgs.history));
  const int portions = options.portions > 0 ? options.portions : kPortionsPerWorker * options.workers;
  minimize(lbfgs, vectors, [&](LocalVectors& at) {
    return problem.evaluate_all(at.at(kTrial), portions, at.at(kTrialGradient));
  });
  return {{vectors.at(kPoint).begin(), vectors.at(kPoint).end()}, lbfgs.value(), lbfgs.iterations()};
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

void expect_each_portion_once(SandblasterWorld& world, const SandblasterWorldOptions& options) {
  const SandblasterProgress progress = world.coordinator().progress();
  const std::int64_t portions = options.sandblaster.portions > 0
                                    ? options.sandblaster.portions
                                    : kPortionsPerWorker * options.sandblaster.workers;
  for (int server = 0; server < options.sandblaster.servers; ++server) {
    EXPECT_EQ(world.shard(server).portions_counted(), progress.evaluations * portions) << server;
  }
}

TEST(Sandblaster, IsSerialLbfgsToTheBitHoweverManyServers) {
  const TestLogistic problem = generated_logistic(600, 40, 4);
  for (const int servers : {1, 2, 3, 5}) {
    const SandblasterWorldOptions options = world_of(problem, servers, 3);
    SandblasterWorld world(options, evaluation_of(problem));
    world.run();
    const Minimum serial = serial_minimum(problem, options.sandblaster);
    EXPECT_EQ(world.coordinator().lbfgs().state(), LbfgsState::converged);
    EXPECT_EQ(world.point(), serial.point) << servers;
    EXPECT_EQ(world.coordinator().lbfgs().value(), serial.value) << servers;
    expect_each_portion_once(world, options);
  }
}

TEST(Sandblaster, LossDuplicationAndOrderOfMessagesChangeNoBit) {
  const TestLogistic problem = generated_logistic(300, 20, 5);
  SandblasterWorldOptions options = world_of(problem, 2, 4);
  SandblasterWorld quiet(options, evaluation_of(problem));
  quiet.run();
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    options.seed = seed;
    options.latency = seed % 2 == 0 ? 1e-3 : 5e-2;
    options.loss = 0.05;
    options.duplication = 0.2;
    options.slowness = {1, 10, 3};
    SandblasterWorld world(options, evaluation_of(problem));
    world.run(1e4);
    ASSERT_TRUE(world.coordinator().is_done()) << "seed " << seed;
    EXPECT_EQ(world.point(), quiet.point()) << "seed " << seed;
    expect_each_portion_once(world, options);
  }
}

TEST(Sandblaster, GoesOnWithoutWorkersThatDie) {
  const TestLogistic problem = generated_logistic(300, 20, 6);
  const SandblasterWorldOptions options = world_of(problem, 2, 4);
  SandblasterWorld quiet(options, evaluation_of(problem));
  quiet.run();
  SandblasterWorld world(options, evaluation_of(problem));
  world.kill(1, 0.013);
  world.kill(3, 0.2);
  world.run(1e4);
  ASSERT_TRUE(world.coordinator().is_done());
  EXPECT_EQ(world.point(), quiet.point());
  expect_each_portion_once(world, options);
}

TEST(Sandblaster, ASlowReplicaCostsLittle) {
  const TestLogistic problem = generated_logistic(300, 20, 7);
  SandblasterWorldOptions options = world_of(problem, 2, 4);
  options.slowness = {1, 1, 10, 1};
  SandblasterWorld world(options, evaluation_of(problem));
  world.run();
  const SandblasterProgress progress = world.coordinator().progress();
  const double speed = 3.1;  // In workers that are not slow.
  const double ideal =
      static_cast<double>(progress.evaluations) * 4 * kPortionsPerWorker * options.portion_seconds / speed;
  EXPECT_LT(world.seconds(), 1.3 * ideal);
  EXPECT_GT(progress.backups, 0);
  expect_each_portion_once(world, options);
  RecordProperty("of_ideal", std::to_string(world.seconds() / ideal));
}

TEST(Sandblaster, TheCoordinatorSeesScalarsAlone) {
  const TestLogistic problem = generated_logistic(300, 2000, 8);
  const SandblasterWorldOptions options = world_of(problem, 2, 4);
  SandblasterWorld world(options, evaluation_of(problem));
  world.run();
  const double per_iteration =
      static_cast<double>(world.coordinator().progress().bytes) / world.coordinator().lbfgs().iterations();
  EXPECT_LT(per_iteration, 1024.0 * options.sandblaster.lbfgs.history);
  RecordProperty("bytes_per_iteration", std::to_string(per_iteration));
}

TEST(Sandblaster, StartsWithTheFirstQuestionHowFarItIs) {
  class Sent final : public SandblasterOutbox {
   public:
    void send(const NodeId& to, const SandblasterMessage& message) override {
      messages.emplace_back(to, message);
    }
    std::vector<std::pair<NodeId, SandblasterMessage>> messages;
  } sent;
  SandblasterCoordinator coordinator({.servers = 2}, sent);
  coordinator.on_time(after(Seconds(1)));
  EXPECT_TRUE(sent.messages.empty());
  for (int i = 0; i < 2; ++i) coordinator.on_message(kRecorder, ProgressRequest{5}, TimePoint());
  ASSERT_EQ(sent.messages.size(), 4U);
  EXPECT_TRUE(std::holds_alternative<VectorBatch>(sent.messages[0].second));
  EXPECT_EQ(sent.messages[1].first, server_node(1));
  EXPECT_EQ(std::get<SandblasterProgress>(sent.messages[3].second), coordinator.progress());
}

TEST(Sandblaster, EqualsSerialOnA9a) {
  const std::optional<TestLogistic> problem = a9a_logistic();
  if (!problem) GTEST_SKIP() << "no a9a below HOCKET_TEST_DATA";
  SandblasterWorldOptions options = world_of(*problem, 2, 4);
  options.slowness = {1, 10};
  SandblasterWorld world(options, evaluation_of(*problem));
  world.run();
  const Minimum serial = serial_minimum(*problem, options.sandblaster);
  const Lbfgs& lbfgs = world.coordinator().lbfgs();
  EXPECT_NEAR(lbfgs.value(), serial.value, 1e-6 * serial.value);
  EXPECT_LT(largest_difference(world.point(), serial.point), 1e-6);
  const double bytes = static_cast<double>(world.coordinator().progress().bytes) / lbfgs.iterations();
  EXPECT_LT(bytes, 1024.0 * options.sandblaster.lbfgs.history);
  expect_each_portion_once(world, options);
  RecordProperty("objective", std::to_string(lbfgs.value() * static_cast<double>(problem->samples())));
  RecordProperty("iterations", lbfgs.iterations());
  RecordProperty("difference", fmt::format("{}", largest_difference(world.point(), serial.point)));
  RecordProperty("bytes_per_iteration", std::to_string(bytes));
}

}  // namespace
}  // namespace hocket
