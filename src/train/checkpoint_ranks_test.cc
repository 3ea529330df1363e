// Checkpoints that several ranks write and read together.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <numeric>

#include "base/error.h"
#include "data/test_files.h"
#include "net/run_ranks.h"
#include "train/checkpoint_store.h"
#include "train/checkpoint_writer.h"
#include "train/hash.h"
#include "train/session.h"
#include "train/team.h"
#include "train/test_checkpoint.h"
#include "train/test_file_system.h"
#include "train/trainer.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr int kSavingRanks = 3;

void on_ranks(int ranks, const std::function<void(Team&)>& body) {
  const auto errors = run_ranks(ranks, [&](std::unique_ptr<Transport> transport) {
    Team team(std::move(transport), Mesh::parse("", ranks));
    body(team);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

Tensor numbers(const Shape& shape, std::int64_t start) {
  const Tensor tensor(DType::f32, shape);
  std::iota(tensor.values<float>().begin(), tensor.values<float>().end(), static_cast<float>(start));
  return tensor;
}

// What each of three ranks has: rows of one tensor, slices of another, columns of a third, and all of a
// fourth.
Checkpoint share_of_checkpoint(std::int64_t step, Rank rank) {
  const std::int64_t slices[] = {0, 3, 6, 8};
  const std::int64_t first = slices[rank], count = slices[rank + 1] - first;
  Checkpoint checkpoint;
  checkpoint.settings = {{"lr", "0.1"}};
  checkpoint.step = step;
  checkpoint.parts = {
      {{"param/rows", DType::f32, {6, 4}, {2 * rank, 0}, {2, 4}, 0, 8}, numbers({2, 4}, step + 8 * rank)},
      {{"param/slices", DType::f32, {8}, {0}, {8}, first, count}, numbers({count}, step + first)}};
  if (rank < 2) {
    checkpoint.parts.push_back({{"optimizer/m/rows", DType::f32, {6, 4}, {0, 2 * rank}, {6, 2}, 0, 12},
                                numbers({6, 2}, step + 100 * rank)});
  }
  if (rank == 0) checkpoint.parts.push_back(whole_part("buffer/mean", numbers({5}, step)));
  return checkpoint;
}

// The ranks together save the steps.
void save(const fs::path& folder, const std::vector<std::int64_t>& steps) {
  on_ranks(kSavingRanks, [&](Team& team) {
    FailingFileSystem disk;  // Never, and without syncs.
    CheckpointStore store(folder, team, {}, disk);
    for (const std::int64_t step : steps) store.save(share_of_checkpoint(step, team.rank()));
  });
}

TEST(CheckpointOfRanks, HasTheFilesOfItsOwnersAndWholeTensors) {
  const TestFolder folder;
  save(folder.path(), {7});
  const fs::path saved = folder.path() / "step-00000007";
  EXPECT_EQ(posix_file_system().list(saved),
            (std::vector<std::string>{"manifest.json", "model-00000.safetensors", "model-00001.safetensors",
                                      "model-00002.safetensors", "optimizer-00000.safetensors",
                                      "optimizer-00001.safetensors"}));
  const CheckpointReader reader = open_checkpoint(saved);
  EXPECT_EQ(reader.checkpoint().settings.at("lr"), "0.1");
  for (const auto& [name, tensor] : read_whole(reader)) {
    if (name == "optimizer/m/rows") {
      EXPECT_EQ(std::vector(tensor.values<float>().begin(), tensor.values<float>().begin() + 4),
                (std::vector<float>{7, 8, 107, 108}));
    } else {
      EXPECT_EQ(parameter_hash(std::vector<NamedTensor>{{name, tensor}}),
                parameter_hash(std::vector<NamedTensor>{{name, numbers(tensor.shape(), 7)}}));
    }
  }
}

// What is read by `ranks` ranks, and what each of them warns of.
std::int64_t newest_step_on(const fs::path& folder, int ranks, std::size_t warnings) {
  std::atomic<std::int64_t> sum = 0;
  on_ranks(ranks, [&](Team& team) {
    std::vector<std::string> lines;
    const CheckpointOptions options{.warn = [&](const std::string& line) { lines.push_back(line); }};
    const auto reader = CheckpointStore(folder, team, options).open_newest();
    EXPECT_EQ(lines.size(), warnings);
    sum += reader ? reader->checkpoint().step : 0;
  });
  return sum / ranks;
}

TEST(CheckpointOfRanks, IsSkippedByAllWhereAFileIsMissingTornOrDamaged) {
  const TestFolder folder;
  save(folder.path(), {1, 2});
  const fs::path newest = folder.path() / "step-00000002";
  EXPECT_EQ(newest_step_on(folder.path(), 2, 0), 2);
  for (const std::string& name : posix_file_system().list(newest)) {
    const std::string whole = read_text(newest / name);
    fs::remove(newest / name);
    EXPECT_EQ(newest_step_on(folder.path(), 2, 1), 1) << name;
    write_text(newest / name, whole.substr(0, whole.size() / 2));
    EXPECT_EQ(newest_step_on(folder.path(), 2, 1), 1) << name;
    std::string damaged = whole;
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    write_text(newest / name, damaged);
    EXPECT_EQ(newest_step_on(folder.path(), 2, 1), 1) << name;
    write_text(newest / name, whole);
  }
  EXPECT_EQ(newest_step_on(folder.path(), 2, 0), 2);
}

TEST(CheckpointOfRanks, EveryFlippedByteOfAPartIsDetected) {
  const TestFolder folder;
  save(folder.path(), {1});
  const fs::path saved = folder.path() / "step-00000001";
  for (const std::string& name : posix_file_system().list(saved)) {
    if (name == kManifestFile) continue;
    const std::string whole = read_text(saved / name);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
      write_text(saved / name, damaged);
      ASSERT_THROW(open_checkpoint(saved), DataError) << name << " at " << at;
    }
    write_text(saved / name, whole);
  }
  EXPECT_NO_THROW(open_checkpoint(saved));
}

// What the reader says of a manifest that was changed, with a checksum that fits.
std::string refusal_of_manifest(const std::function<void(Manifest&)>& change) {
  const TestFolder folder;
  save(folder.path(), {1});
  const fs::path saved = folder.path() / "step-00000001";
  const std::string text = read_text(saved / kManifestFile);
  Manifest manifest = parse_manifest(std::as_bytes(std::span(text)), "manifest");
  change(manifest);
  write_manifest(manifest, saved, posix_file_system());
  try {
    open_checkpoint(saved);
  } catch (const DataError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(saved.string()), std::string::npos) << what;
    return what;
  }
  return "";
}

TensorPart& part_of(Manifest& manifest, std::string_view tensor, std::string_view file) {
  for (PartRecord& record : manifest.parts) {
    if (record.part.name == tensor && record.file == file) return record.part;
  }
  throw Error("no such part");
}

TEST(CheckpointOfRanks, DistrustsItsManifest) {
  const auto expect = [](const std::string& said, const std::function<void(Manifest&)>& change) {
    const std::string what = refusal_of_manifest(change);
    EXPECT_NE(what.find(said), std::string::npos) << what;
  };
  const auto rows = [](Manifest& m) -> TensorPart& {
    return part_of(m, "param/rows", "model-00001.safetensors");
  };
  const auto slice = [](Manifest& m) -> TensorPart& {
    return part_of(m, "param/slices", "model-00001.safetensors");
  };
  EXPECT_EQ(refusal_of_manifest([](Manifest&) {}), "");
  expect("element 0 of tensor param/rows is in more than one", [&](Manifest& m) { rows(m).begin[0] = 0; });
  expect("element 8 of tensor param/rows is in none", [&](Manifest& m) { rows(m).begin[0] = 3; });
  expect("tensor param/rows: the box", [&](Manifest& m) { rows(m).begin[0] = 5; });
  expect("tensor param/rows: the box", [&](Manifest& m) { rows(m).shape[1] = std::int64_t{1} << 62; });
  expect("tensor param/rows is f32 [2,4]; the manifest says f64",
         [&](Manifest& m) { rows(m).dtype = DType::f64; });
  expect("tensor param/rows is f32 [2,4]; the manifest says f32 [7]",
         [&](Manifest& m) { rows(m).count = 7; });
  expect("tensor param/rows is of another kind", [&](Manifest& m) { rows(m).global[0] = 7; });
  expect("element 2 of tensor param/slices is in more than one", [&](Manifest& m) { slice(m).first = 2; });
  expect("elements from 6 on", [&](Manifest& m) { slice(m).first = 6; });
  expect("tensor param/rows is not in the manifest", [&](Manifest& m) { rows(m).name = "param/other"; });
  expect("tensor param/rows is twice in model-00000",
         [](Manifest& m) { m.parts.push_back(m.parts.front()); });
  expect("is in elsewhere, which is not listed", [](Manifest& m) { m.parts.front().file = "elsewhere"; });
  expect("cannot be a file of a checkpoint", [](Manifest& m) { m.files.front().name = "../x"; });
  expect("is listed twice", [](Manifest& m) { m.files.push_back(m.files.front()); });
  expect("model-00001.safetensors, which is not listed",
         [](Manifest& m) { m.files.erase(m.files.begin() + 2); });
}

// Rank by rank, a disk that fails at any one operation: all ranks hear of it, the older checkpoints load,
// nothing is left behind.
TEST(CheckpointOfRanks, FailingAnyOneOperationOfOneRankDamagesNothing) {
  for (Rank victim = 0; victim < kSavingRanks; ++victim) {
    for (int nth = 1;; ++nth) {
      const TestFolder folder;
      save(folder.path(), {1, 2});
      std::atomic<int> failed = 0, warned = 0;
      std::atomic<bool> fired = false;
      on_ranks(kSavingRanks, [&](Team& team) {
        FailingFileSystem disk(team.rank() == victim ? nth : FailingFileSystem::kNever);
        CheckpointStore store(folder.path(), team, {.warn = [&](const std::string&) { ++warned; }}, disk);
        try {
          store.save(share_of_checkpoint(3, team.rank()));
        } catch (const Error& error) {
          ++failed;
          const std::string what = error.what();
          EXPECT_NE(what.find("step-00000003 is not saved: cannot write"), std::string::npos) << what;
        }
        if (disk.fired()) fired = true;
      });
      const bool is_told = failed == kSavingRanks || (failed == 0 && warned == 1);
      EXPECT_TRUE(is_told || !fired) << victim << " at " << nth;
      for (const std::string& name : posix_file_system().list(folder.path())) {
        EXPECT_FALSE(name.starts_with(".tmp-") && failed > 0) << name << " after " << nth;
        if (!name.starts_with(".tmp-")) open_checkpoint(folder.path() / name);
      }
      EXPECT_GE(newest_step_on(folder.path(), 2, 0), 2);
      if (!fired) break;
    }
  }
}

TEST(CheckpointOfRanks, NeedsAFolderThatAllRanksSee) {
  const TestFolder folder, elsewhere;
  save(folder.path(), {1});
  const auto own = [&](Team& team) { return team.rank() == 1 ? elsewhere.path() : folder.path(); };
  for (const bool saves : {true, false}) {
    const auto errors = run_ranks(2, [&](std::unique_ptr<Transport> transport) {
      Team team(std::move(transport), Mesh::parse("", 2));
      CheckpointStore store(own(team), team);
      if (saves) return store.save(share_of_checkpoint(2, team.rank()));
      store.open_newest();
    });
    for (const std::string& error : errors) {
      EXPECT_NE(error.find(saves ? "rank 1 does not see" : "rank 1 has in"), std::string::npos) << error;
    }
  }
  EXPECT_EQ(posix_file_system().list(folder.path()), std::vector<std::string>{"step-00000001"});
}

TEST(CheckpointReader, ReadsTheVersionWithoutParts) {
  const TestFolder folder;
  Team alone;
  Checkpoint checkpoint;
  checkpoint.step = 1;
  checkpoint.parts = {whole_part("param/w", numbers({3, 4}, 1)),
                      whole_part("optimizer/m/w", numbers({3, 4}, 50))};
  CheckpointStore(folder.path(), alone).save(checkpoint);
  const fs::path saved = folder.path() / "step-00000001";
  const std::string text = read_text(saved / kManifestFile);
  Manifest manifest = parse_manifest(std::as_bytes(std::span(text)), "manifest");
  const std::string hash = parameter_hash(read_whole(open_checkpoint(saved)));
  manifest.version = Manifest::kWholeTensors;
  manifest.parts.clear();
  write_manifest(manifest, saved, posix_file_system());
  EXPECT_EQ(parameter_hash(read_whole(open_checkpoint(saved))), hash);
}

// How many ranks there are and how they divide the model.
struct Division {
  std::string mesh;
  int zero = 0;
};

const Division kDivisions[] = {{"dp=1"}, {"dp=2"}, {"tp=2"}, {"dp=2,tp=2"}, {"dp=3", 3}};

std::ostream& operator<<(std::ostream& out, const Division& division) {
  return out << division.mesh << " zero " << division.zero;
}

void divided(const Division& division, const std::function<void(Team&)>& body) {
  const Mesh mesh = Mesh::parse(division.mesh, 0);
  if (mesh.size() == 1) {
    Team alone;
    return body(alone);
  }
  const auto errors = run_ranks(mesh.size(), [&](std::unique_ptr<Transport> transport) {
    Team team(std::move(transport), mesh);
    body(team);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "") << division;
}

TrainOptions divided_gpt_options(const Division& division, const fs::path& folder) {
  TrainOptions options;
  options.model = "gpt,layers=1,width=16,heads=2";
  options.data = "synthetic:text,samples=48,context=8";
  options.batch = 12;
  options.dtype = "f64";
  options.threads = 1;
  options.log_every = 1;
  options.zero = division.zero;
  options.out = folder.string();
  return options;
}

// The loss of the last step, of a run that goes on with what is in the folder.
double train_to(std::int64_t steps, const Division& division, const fs::path& folder) {
  TrainOptions options = divided_gpt_options(division, folder);
  options.steps = steps;
  options.epochs = 10;
  options.resume = fs::exists(folder / "checkpoints");
  const std::atomic<bool> stop{false};
  std::atomic<double> loss = 0;
  divided(division, [&](Team& team) {
    TrainObserver nobody;
    const TrainResult result = train(options, nobody, stop, team);
    EXPECT_EQ(result.steps, steps);
    if (team.is_first()) loss = result.train_loss;
  });
  return loss;
}

// Every tensor that ranks have after they read a checkpoint, as they save it again.
std::vector<NamedTensor> saved_again(const fs::path& folder, const Division& division) {
  const TestFolder again;
  divided(division, [&](Team& team) {
    const TrainOptions given = divided_gpt_options(division, folder);
    const SessionData data = open_session_data(given);
    Session session(with_defaults(given, data.train->info()), data.train->info(), team);
    session.restore(CheckpointStore(folder / "checkpoints", team).open_newest().value(), true);
    CheckpointStore(again.path(), team).save(session.checkpoint());
  });
  return read_whole(open_checkpoint(again.path() / "step-00000000"));
}

// The loss of step 4 of a run that never stopped.
double undisturbed_loss(const Division& division) {
  static std::map<std::string, double> losses;
  const auto [at, is_new] = losses.try_emplace(division.mesh);
  if (is_new) at->second = train_to(4, division, TestFolder().path());
  return at->second;
}

class Resharding : public testing::TestWithParam<Division> {};

TEST_P(Resharding, AnyRanksGoOnWhereAnyOthersStopped) {
  const Division& before = GetParam();
  const TestFolder folder;
  train_to(3, before, folder.path() / "saved");
  const auto saved = read_whole(open_checkpoint(folder.path() / "saved/checkpoints/step-00000003"));
  EXPECT_GT(saved.size(), 30U);
  for (const Division& after : kDivisions) {
    EXPECT_EQ(parameter_hash(saved_again(folder.path() / "saved", after)), parameter_hash(saved)) << after;
    const fs::path copy = folder.path() / ("resumed-" + after.mesh);
    fs::copy(folder.path() / "saved", copy, fs::copy_options::recursive);
    const double loss = train_to(4, after, copy);
    EXPECT_NEAR(loss, undisturbed_loss(after), after.mesh == before.mesh ? 0 : 1e-12) << after;
  }
}

INSTANTIATE_TEST_SUITE_P(Divisions, Resharding, testing::ValuesIn(kDivisions));

}  // namespace
}  // namespace hocket
