#include "cli/slurm/slurm_script.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "cli/slurm/slurm_tool.h"

namespace hocket {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

SlurmJob job() {
  SlurmJob job;
  job.name = "a job";
  job.program = "/bin/echo";
  job.folder = "/tmp";
  job.jobs_folder = "/jobs";
  return job;
}

TEST(SlurmScript, AShellTakesAQuotedWordAsItIs) {
  for (const std::string word :
       {"plain", "", "a b", "it's", "$(touch /x)", "`x`", "\"", "\\", "*", "a\nb", "-n", "''", "é"}) {
    const std::string quoted = shell_quoted(word);
    EXPECT_EQ(output_of({"bash", "-c", "printf %s " + quoted}), word);
  }
}

// The script as Slurm would run it, with programs that tell how they were called.
class SlurmScriptRun : public testing::Test {
 protected:
  SlurmScriptRun() {
    std::string name = testing::TempDir() + "it's $HOME-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    job_ = job();
    job_.program = (folder_ / "hocket").string();
    job_.jobs_folder = (folder_ / "jobs").string();
    write("scontrol", "echo \"scontrol $*\"");
  }
  ~SlurmScriptRun() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << "#!/bin/bash\n" << text << '\n';
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
  }

  // What the script prints, and its exit code; the program may send it signals.
  std::string run() const {
    write("script", slurm_script(job_));
    return output_of({"bash", "-c",
                      R"(cd "$0"; PATH=$PWD:$PATH SLURM_JOB_ID=12 SLURMD_NODENAME=n ./script; echo "= $?")",
                      folder_.string()});
  }

  std::filesystem::path folder_;
  SlurmJob job_;
};

TEST_F(SlurmScriptRun, TrainsWithTheWordsOfTheUser) {
  write("hocket", R"(printf '<%s>' "$@"; echo)");
  job_.words = {"--model", "it's $(false) \"x\"; exit"};
  job_.workers = 3;
  EXPECT_EQ(run(),
            fmt::format("[start 1 with 3 workers on n]\n<train><--model><it's $(false) \"x\"; exit><--resume>"
                        "<--out><{}/12/run><--workers><3>\n= 0\n",
                        job_.jobs_folder));
}

TEST_F(SlurmScriptRun, ASignalHasItWriteACheckpointAndBeQueuedAnew) {
  for (const auto& [signal, word] : {std::pair("USR1", "requeue"), std::pair("USR2", "requeuehold")}) {
    write("hocket", fmt::format("trap 'echo checkpoint; exit 143' TERM; kill -{0} $PPID; kill -{0} $PPID; "
                                "for i in {{1..200}}; do sleep 0.02; done",
                                signal));
    EXPECT_THAT(run(), testing::EndsWith(fmt::format("checkpoint\nscontrol {} 12\n= 143\n", word)));
  }
}

TEST_F(SlurmScriptRun, WhatEndsByItselfIsNotQueuedAnew) {
  write("hocket", "trap 'exit 0' TERM; kill -USR2 $PPID; for i in {1..200}; do sleep 0.02; done");
  EXPECT_THAT(run(), testing::EndsWith("on n]\n= 0\n"));
  write("hocket", "exit 3");
  EXPECT_THAT(run(), testing::EndsWith("on n]\n= 3\n"));
}

TEST(SlurmScript, SbatchIsToldWhatTheJobNeeds) {
  SlurmJob large = job();
  large.workers = 4;
  large.memory_bytes = 1000;
  large.length = 90.0;
  const auto words = sbatch_words(large);
  for (const char* word : {"--parsable", "--requeue", "--job-name=a job", "--cpus-per-task=4", "--mem=4K",
                           "--time=5", "--output=/jobs/%j.log", "--signal=B:USR1@60"})
    EXPECT_THAT(words, Contains(word));
  for (const std::string& word : sbatch_words(job())) {
    EXPECT_THAT(word, Not(HasSubstr("--mem")));
    EXPECT_THAT(word, Not(HasSubstr("--time")));
  }
}

TEST(SlurmScript, AFolderThatSlurmWouldReadOtherwiseIsRefused) {
  SlurmJob odd = job();
  odd.jobs_folder = "/a%jb";
  EXPECT_THROW(sbatch_words(odd), ConfigError);
}

TEST(SlurmTool, ComplaintsArePassedOnInOneLine) {
  try {
    output_of(
        {"bash", "-c", "echo 'sbatch: error: first' >&2; echo 'sbatch: error: it cannot be' >&2; exit 3"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "jobs: bash failed: it cannot be");
  }
  EXPECT_THROW(output_of({"no-such-program-anywhere"}), ConfigError);
  EXPECT_EQ(output_of({"cat"}, "what goes in"), "what goes in");
}

}  // namespace
}  // namespace hocket
