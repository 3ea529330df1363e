#include "net/environment.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace hocket {
namespace {

using Source = Environment::Source;
using Table = std::map<std::string, std::string>;

Environment detect(const Table& table) {
  return detect_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = table.find(name);
    if (found == table.end() || found->second.empty()) return std::nullopt;
    return found->second;
  });
}

std::string mistake(const Table& table) {
  try {
    detect(table);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

const Table kHocket{{"HOCKET_RANK", "1"},
                    {"HOCKET_WORLD_SIZE", "3"},
                    {"HOCKET_COORDINATOR", "[::1]:4711"},
                    {"HOCKET_KEY_FD", "5"}};
const Table kTorchrun{{"RANK", "2"},
                      {"WORLD_SIZE", "4"},
                      {"MASTER_ADDR", "node1"},
                      {"MASTER_PORT", "29500"},
                      {"LOCAL_RANK", "0"}};
const Table kMpi{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "prun-7"}};
const Table kPmi{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_FD", "9"}};
const Table kSlurm{{"SLURM_PROCID", "3"},
                   {"SLURM_NTASKS", "8"},
                   {"SLURM_JOB_ID", "77"},
                   {"SLURM_STEP_NODELIST", "node[07-09],gpu1"}};

TEST(Environment, NothingIsOneProcess) {
  const Environment alone = detect({});
  EXPECT_EQ(alone.source, Source::alone);
  EXPECT_EQ(alone.world_size, 1);
}

TEST(Environment, KnowsEachLauncher) {
  const Environment hocket = detect(kHocket);
  EXPECT_EQ(hocket.source, Source::hocket_launch);
  EXPECT_EQ(hocket.rank, 1);
  EXPECT_EQ(hocket.world_size, 3);
  EXPECT_EQ(hocket.coordinator_host, "::1");
  EXPECT_EQ(hocket.coordinator_port, 4711);
  EXPECT_EQ(hocket.key_fd, 5);

  const Environment torchrun = detect(kTorchrun);
  EXPECT_EQ(torchrun.source, Source::torchrun);
  EXPECT_EQ(torchrun.rank, 2);
  EXPECT_EQ(torchrun.local_rank, 0);
  EXPECT_EQ(torchrun.coordinator_host, "node1");
  EXPECT_EQ(describe(torchrun), "rank 2 of 4, by torchrun's variables");

  const Environment mpi = detect(kMpi);
  EXPECT_EQ(mpi.source, Source::mpi);
  EXPECT_EQ(mpi.meeting_name, "mpi prun-7");

  const Environment pmi = detect(kPmi);
  EXPECT_EQ(pmi.source, Source::pmi);
  EXPECT_EQ(pmi.pmi_fd, 9);

  const Environment slurm = detect(kSlurm);
  EXPECT_EQ(slurm.source, Source::slurm);
  EXPECT_EQ(slurm.rank, 3);
  EXPECT_EQ(slurm.world_size, 8);
  EXPECT_EQ(slurm.coordinator_host, "node07");
}

TEST(Environment, TheFirstCompleteSetInOrderCounts) {
  Table all;
  for (const Table* each : {&kSlurm, &kPmi, &kMpi, &kTorchrun, &kHocket})
    all.insert(each->begin(), each->end());
  EXPECT_EQ(detect(all).source, Source::hocket_launch);
  all.erase("HOCKET_RANK");
  EXPECT_EQ(detect(all).source, Source::torchrun);
  all.erase("WORLD_SIZE");
  EXPECT_EQ(detect(all).source, Source::mpi);
  all.erase("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(detect(all).source, Source::pmi);
  all.erase("PMI_RANK");
  EXPECT_EQ(detect(all).source, Source::slurm);
}

TEST(Environment, APartOfASetIsAMistakeThatNamesTheRest) {
  EXPECT_EQ(mistake({{"RANK", "0"}}),
            "RANK set without WORLD_SIZE, MASTER_ADDR, MASTER_PORT: a part of what torchrun's variables "
            "sets; set the "
            "rest, or unset it to run one process");
  for (const Table* set : {&kHocket, &kTorchrun, &kMpi, &kPmi, &kSlurm}) {
    for (const auto& [name, value] : *set) {
      if (name == "LOCAL_RANK" || name == "PMI_FD" || name == "SLURM_JOB_ID" || name == "PMIX_NAMESPACE" ||
          name == "SLURM_STEP_NODELIST" || name == "SLURM_PROCID") {
        continue;
      }
      Table part = *set;
      part.erase(name);
      EXPECT_NE(mistake(part).find(name), std::string::npos) << name << ": " << mistake(part);
    }
  }
  EXPECT_NE(mistake({{"PMIX_RANK", "0"}}), "");
  EXPECT_EQ(mistake({{"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "1"}}), "");  // A shell of salloc.
}

TEST(Environment, RefusesNumbersThatAreNone) {
  Table table = kTorchrun;
  table["RANK"] = "4";
  EXPECT_EQ(mistake(table), "RANK=4 contradicts WORLD_SIZE=4: ranks count from 0");
  table["RANK"] = "two";
  EXPECT_EQ(mistake(table), "RANK=two: expected a number from 0 to 1048576");
  table["RANK"] = "1";
  table["MASTER_PORT"] = "70000";
  EXPECT_NE(mistake(table), "");
  table["MASTER_PORT"] = "29500x";
  EXPECT_NE(mistake(table), "");
}

TEST(Environment, LeavesMasterPortToTheAgentOfTorchrun) {
  Table table = kTorchrun;
  table["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(detect(table).coordinator_port, 29501);
}

TEST(Environment, FirstHostOfAList) {
  EXPECT_EQ(first_host("a"), "a");
  EXPECT_EQ(first_host("a1,b2"), "a1");
  EXPECT_EQ(first_host("node[07-09,12],gpu1"), "node07");
  EXPECT_EQ(first_host("n[5,7]-ib,m"), "n5-ib");
  EXPECT_THROW(first_host("n[5"), ConfigError);
}

}  // namespace
}  // namespace hocket
