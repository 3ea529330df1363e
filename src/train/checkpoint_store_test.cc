#include "train/checkpoint_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/rng.h"
#include "data/test_files.h"
#include "train/hash.h"
#include "train/team.h"
#include "train/test_checkpoint.h"
#include "train/test_file_system.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  Tensor tensor(DType::f32, shape);
  Rng rng{seed};
  for (float& value : tensor.values<float>()) value = static_cast<float>(rng.normal());
  return tensor;
}

Checkpoint checkpoint_of(std::int64_t step, std::int64_t width = 8) {
  const auto seed = static_cast<std::uint64_t>(step);
  return {.parts = {whole_part("param/fc.weight", random_tensor({width, 4}, seed)),
                    whole_part("param/fc.bias", random_tensor({width}, seed + 1)),
                    whole_part("buffer/norm.mean", random_tensor({width}, seed + 2)),
                    whole_part("optimizer/momentum/fc.weight", random_tensor({width, 4}, seed + 3))},
          .settings = {{"algorithm", "direct"}, {"lr", "0.1"}},
          .model = "0123456789abcdef",
          .seed = 0xffff'ffff'ffff'fff0ULL,
          .step = step,
          .epoch = 3,
          .position = 640};
}

std::string hash_of(const Checkpoint& checkpoint) {
  std::vector<NamedTensor> tensors;
  for (const auto& [part, data] : checkpoint.parts) tensors.emplace_back(part.name, data);
  return parameter_hash(tensors);
}

std::string hash_of(const CheckpointReader& reader) { return parameter_hash(read_whole(reader)); }

Team& alone() {
  static Team team;
  return team;
}

std::int64_t newest_step(CheckpointStore& store) {
  const auto reader = store.open_newest();
  return reader ? reader->checkpoint().step : -1;
}

std::vector<std::string> names_in(const fs::path& directory) { return posix_file_system().list(directory); }

void write_byte(const fs::path& path, std::size_t at, char byte) {
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
      .seekp(static_cast<std::streamoff>(at))
      .put(byte);
}

struct Warnings {
  std::vector<std::string> lines;
  CheckpointOptions options(int keep = 2) {
    return {.keep = keep, .warn = [this](const std::string& line) { lines.push_back(line); }};
  }
};

TEST(CheckpointStore, GivesBackExactlyWhatWasSaved) {
  const TestFolder folder;
  CheckpointStore store(folder.path() / "checkpoints", alone());
  EXPECT_FALSE(store.open_newest().has_value());
  const Checkpoint saved = checkpoint_of(1234);
  store.save(saved);
  const CheckpointReader reader = store.open_newest().value();
  const Checkpoint& loaded = reader.checkpoint();
  EXPECT_EQ(hash_of(reader), hash_of(saved));
  EXPECT_EQ(loaded.settings, saved.settings);
  EXPECT_EQ(loaded.model, saved.model);
  EXPECT_EQ(loaded.seed, saved.seed);
  EXPECT_EQ(loaded.step, 1234);
  EXPECT_EQ(loaded.epoch, 3);
  EXPECT_EQ(loaded.position, 640);
  ASSERT_EQ(store.list().size(), 1U);
  EXPECT_EQ(store.list()[0].filename(), "step-00001234");
  EXPECT_EQ(names_in(store.list()[0]),
            (std::vector<std::string>{"manifest.json", "model.safetensors", "optimizer.safetensors"}));
}

TEST(CheckpointStore, KeepsTheNewest) {
  const TestFolder folder;
  CheckpointStore store(folder.path(), alone(), {.keep = 3});
  for (const std::int64_t step : {1, 5, 20, 300, 100'000'000}) store.save(checkpoint_of(step));
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"step-00000020", "step-00000300", "step-100000000"}));
  EXPECT_EQ(newest_step(store), 100'000'000);
}

TEST(CheckpointStore, FewerThanTwoIsRefused) {
  EXPECT_THROW(CheckpointStore("x", alone(), {.keep = 1}), ConfigError);
}

TEST(CheckpointStore, SavingAStepAgainReplacesIt) {
  const TestFolder folder;
  CheckpointStore store(folder.path(), alone());
  store.save(checkpoint_of(7));
  Checkpoint other = checkpoint_of(7, 16);
  store.save(other);
  EXPECT_EQ(hash_of(*store.open_newest()), hash_of(other));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-00000007"});
}

TEST(CheckpointStore, LeftoversOfAKilledSaveAreRemoved) {
  const TestFolder folder;
  fs::create_directories(folder.path() / ".tmp-step-00000003");
  write_text(folder.path() / ".tmp-step-00000003" / "model.safetensors", "half");
  CheckpointStore store(folder.path(), alone());
  EXPECT_FALSE(store.open_newest().has_value());
  store.save(checkpoint_of(4));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-00000004"});
}

TEST(CheckpointStore, ATornCheckpointIsNamedSkippedAndRemovedByTheNextSave) {
  const TestFolder folder;
  Warnings warnings;
  CheckpointStore store(folder.path(), alone(), warnings.options());
  store.save(checkpoint_of(10));
  store.save(checkpoint_of(20));
  fs::resize_file(folder.path() / "step-00000020" / "model.safetensors", 100);
  EXPECT_EQ(newest_step(store), 10);
  ASSERT_EQ(warnings.lines.size(), 1U);
  EXPECT_NE(warnings.lines[0].find("step-00000020 is skipped: "), std::string::npos) << warnings.lines[0];
  EXPECT_NE(warnings.lines[0].find("the file has 100 bytes; the manifest says"), std::string::npos);

  store.save(checkpoint_of(15));
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-00000010", "step-00000015"}));
}

TEST(CheckpointStore, AMissingFileIsATornCheckpoint) {
  for (const char* name : {"manifest.json", "model.safetensors", "optimizer.safetensors"}) {
    const TestFolder folder;
    Warnings warnings;
    CheckpointStore store(folder.path(), alone(), warnings.options());
    store.save(checkpoint_of(1));
    store.save(checkpoint_of(2));
    fs::remove(folder.path() / "step-00000002" / name);
    EXPECT_EQ(newest_step(store), 1) << name;
    EXPECT_EQ(warnings.lines.size(), 1U);
  }
}

// A disk that fails at any one operation: the save reports it, the older checkpoints load, nothing is left
// behind.
TEST(CheckpointStore, FailingAnyOneOperationDamagesNothing) {
  for (const std::int64_t step : {3, 2}) {  // A new step, and one that replaces the newest.
    int failed_saves = 0;
    for (int nth = 1;; ++nth) {
      const TestFolder folder;
      FailingFileSystem disk;
      CheckpointStore(folder.path(), alone(), {}, disk).save(checkpoint_of(1));
      CheckpointStore(folder.path(), alone(), {}, disk).save(checkpoint_of(2));
      FailingFileSystem failing(nth);
      Warnings warnings;
      CheckpointStore store(folder.path(), alone(), warnings.options(), failing);
      bool threw = false;
      try {
        store.save(checkpoint_of(step, 32));
      } catch (const Error& error) {
        threw = true;
        EXPECT_NE(std::string(error.what()).find("No space left on device"), std::string::npos);
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      }
      EXPECT_EQ(threw || !warnings.lines.empty(), failing.fired()) << "operation " << nth;
      failed_saves += threw ? 1 : 0;
      for (const std::string& name : names_in(folder.path())) {
        const bool is_leftover = name.starts_with(".tmp-");
        EXPECT_FALSE(is_leftover && threw && step == 3) << name << " after operation " << nth;
        if (!is_leftover) open_checkpoint(folder.path() / name);
      }
      CheckpointStore after(folder.path(), alone(), {}, disk);
      EXPECT_GE(newest_step(after), 2) << "operation " << nth;
      after.save(checkpoint_of(4));
      EXPECT_EQ(names_in(folder.path()).size(), 2U) << "operation " << nth;
      if (!failing.fired()) break;
    }
    EXPECT_GT(failed_saves, 10);
  }
}

TEST(CheckpointStore, FailingToReadIsSkippedOrReported) {
  const TestFolder folder;
  CheckpointStore(folder.path(), alone()).save(checkpoint_of(1));
  for (int nth = 1;; ++nth) {
    FailingFileSystem failing(nth);
    CheckpointStore store(folder.path(), alone(), {}, failing);
    try {
      store.open_newest();
    } catch (const Error&) {
      EXPECT_TRUE(failing.fired());
    }
    if (!failing.fired()) break;
  }
  CheckpointStore store(folder.path(), alone());
  EXPECT_EQ(newest_step(store), 1);
}

// A limit on the size of files is the portable stand-in for a full disk: the kernel itself refuses the write.
TEST(CheckpointStore, AFullDiskLeavesTheEarlierCheckpointAndNoLeftovers) {
  const TestFolder folder;
  CheckpointStore store(folder.path(), alone());
  store.save(checkpoint_of(1));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 64 << 10, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  try {
    store.save(checkpoint_of(2, 100'000));
  } catch (const Error& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("step-00000002 is not saved: cannot write"), std::string::npos) << message;
  EXPECT_NE(message.find("File too large; earlier ones are untouched"), std::string::npos) << message;
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-00000001"});
  EXPECT_EQ(newest_step(store), 1);
}

TEST(CheckpointReader, EveryTruncationOnAPageIsDetected) {
  const TestFolder folder;
  CheckpointStore store(folder.path(), alone());
  store.save(checkpoint_of(1, 4096));
  const fs::path directory = store.list()[0];
  for (const std::string& name : names_in(directory)) {
    const std::string whole = read_text(directory / name);
    for (std::size_t size = 0; size < whole.size(); size += 4096) {
      fs::resize_file(directory / name, size);
      EXPECT_THROW(open_checkpoint(directory), DataError) << name << " at " << size;
      write_text(directory / name, whole);
    }
  }
  EXPECT_NO_THROW(open_checkpoint(directory));
}

TEST(CheckpointReader, EveryFlippedByteIsDetected) {
  const TestFolder folder;
  CheckpointStore store(folder.path(), alone());
  store.save(checkpoint_of(1));
  const fs::path directory = store.list()[0];
  for (const std::string& name : names_in(directory)) {
    const std::string whole = read_text(directory / name);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      write_byte(directory / name, at, static_cast<char>(whole[at] ^ (1 << (at % 8))));
      ASSERT_THROW(open_checkpoint(directory), DataError) << name << " at " << at;
      write_byte(directory / name, at, whole[at]);
    }
  }
  EXPECT_NO_THROW(open_checkpoint(directory));
}

TEST(CheckpointReader, AnotherVersionIsNamed) {
  const TestFolder folder;
  CheckpointStore store(folder.path(), alone());
  store.save(checkpoint_of(1));
  const fs::path manifest = store.list()[0] / "manifest.json";
  std::string text = read_text(manifest);
  text.replace(text.find("\"version\": 2"), 12, "\"version\": 9");
  write_text(manifest, text);
  try {
    open_checkpoint(store.list()[0]);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("has version 9; expected 1 or 2"), std::string::npos)
        << error.what();
  }
}

std::string spec_difference(std::vector<TensorSpec> expected) {
  const TensorSpec found[] = {{"param/fc.weight", DType::f32, {8, 4}},
                              {"param/fc.bias", DType::f32, {8}},
                              {"buffer/norm.mean", DType::f32, {8}}};
  try {
    require_same_parameters(found, expected);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(RequireSameParameters, NamesTheFirstDifference) {
  const TensorSpec weight{"fc.weight", DType::f32, {8, 4}};
  const TensorSpec bias{"fc.bias", DType::f32, {8}};
  const std::string start = "the checkpoint is of another model: ";
  EXPECT_EQ(spec_difference({weight, bias}), "");
  EXPECT_EQ(spec_difference({{"conv.weight", DType::f32, {1}}}),
            start + "it lacks parameter conv.weight (f32 [1])");
  EXPECT_EQ(spec_difference({weight, {"fc.bias", DType::f32, {9}}}),
            start + "parameter fc.bias is f32 [8] there and f32 [9] here");
  EXPECT_EQ(spec_difference({weight, {"fc.bias", DType::bf16, {8}}}),
            start + "parameter fc.bias is f32 [8] there and bf16 [8] here");
  EXPECT_EQ(spec_difference({weight}), start + "it has parameter fc.bias, which the model lacks");
}

}  // namespace
}  // namespace hocket
