#include "cli/settings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"

namespace hocket {
namespace {

std::filesystem::path write_config(const std::string& text) {
  std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / fmt::format("settings_test-{}.toml", ::getpid());
  std::ofstream(path) << text;
  return path;
}

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string file_failure(const std::string& text) {
  Settings settings;
  const std::string message = failure_of([&] { settings.read_file(write_config(text)); });
  return message.substr(std::min(message.find(".toml:"), message.size()));
}

TEST(Settings, LaterSourcesOverrideEarlierOnes) {
  Settings settings;
  settings.read_file(write_config("[train]\nlr = 0.1\nbatch = 32\nepochs = 7\n"));
  const char* const environment[] = {"HOME=/", "HOCKET_TRAIN__BATCH=64", "HOCKET_TRAIN__SEED=5", nullptr};
  settings.read_environment(environment);
  Arguments arguments;
  arguments.add("seed", {"9"});
  arguments.add("set", {"train.clip=2", "train.lr-schedule=cosine"});
  settings.read_flags(arguments);
  settings.read_assignments(arguments);

  const TrainOptions options = settings.train_options();
  EXPECT_EQ(options.learning_rate, 0.1);
  EXPECT_EQ(options.epochs, 7);
  EXPECT_EQ(options.batch, 64);
  EXPECT_EQ(options.seed, 9U);
  EXPECT_EQ(options.optimizer.clip, 2);
  EXPECT_EQ(options.lr_schedule, "cosine");
}

TEST(Settings, EffectiveSettingsReadBackWithTheirOrigins) {
  Settings settings;
  const char* const environment[] = {"HOCKET_TRAIN__LR=0.25", nullptr};
  settings.read_environment(environment);
  Arguments arguments;
  arguments.add("model", {"mlp,hidden=8"});
  arguments.add("gradient-norms", {"true"});
  settings.read_flags(arguments);
  const std::string text = render_config(settings.effective());
  EXPECT_NE(text.find("lr = 0.25  # environment HOCKET_TRAIN__LR"), std::string::npos) << text;
  EXPECT_NE(text.find("model = \"mlp,hidden=8\"  # command line"), std::string::npos) << text;

  Settings again;
  again.read_file(write_config(text));
  for (const Key& key : all_keys()) {
    EXPECT_EQ(text_of(key, again.train_options()), text_of(key, settings.train_options())) << key.name;
  }
}

TEST(Settings, FaultsInFilesAreNamedWithTheirPlace) {
  EXPECT_EQ(file_failure("[train]\nlr = 0.1\nepochz = 3\n"),
            ".toml:3:1: unknown key train.epochz; did you mean train.epochs?");
  EXPECT_EQ(file_failure("[trian]\nlr = 0.1\n"), ".toml:1:2: unknown section trian; did you mean train?");
  EXPECT_EQ(file_failure("lr = 0.1\n"), ".toml:1:1: unknown key lr; did you mean train.lr?");
  EXPECT_EQ(file_failure("[train]\nlr = \"fast\"\n"),
            ".toml:2:6: train.lr: expected a number above 0, found 'fast'");
  EXPECT_EQ(file_failure("[train]\nlr = [1]\n"), ".toml:2:1: expected a number, a string, true or false");
  EXPECT_EQ(file_failure("[train]\nlr = \n").substr(0, 12), ".toml:2:6: E");
}

TEST(Settings, UnknownVariablesAndAssignmentsNameTheNearestKey) {
  Settings settings;
  const char* const environment[] = {"HOCKET_TRAIN__BATCHH=1", nullptr};
  EXPECT_EQ(failure_of([&] { settings.read_environment(environment); }),
            "environment variable HOCKET_TRAIN__BATCHH: unknown key train.batchh; did you mean train.batch?");
  Arguments arguments;
  arguments.add("set", {"train.sed=1"});
  EXPECT_EQ(failure_of([&] { settings.read_assignments(arguments); }),
            "--set: unknown key train.sed; did you mean train.seed?");
}

TEST(Settings, FoldsAreCountedFromOne) {
  Settings settings;
  Arguments arguments;
  arguments.add("folds", {"3"});
  arguments.add("fold", {"3"});
  settings.read_flags(arguments);
  settings.require_consistent();
  EXPECT_EQ(settings.train_options().fold, 2);
  arguments.add("fold", {"4"});
  settings.read_flags(arguments);
  EXPECT_EQ(failure_of([&] { settings.require_consistent(); }), "--fold: expected 1 to 3, found 4");
}

}  // namespace
}  // namespace hocket
