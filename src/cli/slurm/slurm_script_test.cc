#include "cli/slurm/slurm_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

// The script is run by bash as Slurm would, with a program that tells how it was called.
TEST(SlurmScript, TrainsWithTheWordsOfTheUser) {
  SlurmJob evil = job();
  evil.program = "/usr/bin/printf";
  evil.words = {"<%s>", "it's $(false) \"x\"; exit"};
  evil.workers = 3;
  evil.jobs_folder = testing::TempDir() + "it's jobs $HOME";
  const std::string script = slurm_script(evil);
  const std::string out = output_of(
      {"bash", "-c", "export SLURM_JOB_ID=12 SLURMD_NODENAME=n; " + script.substr(script.find("next="))});
  // printf's format is "train", so what follows is not shown: look at the script's own words.
  EXPECT_THAT(out, HasSubstr("[start 1 with 3 workers on n]\ntrain"));
  EXPECT_THAT(
      script,
      HasSubstr(
          R"('/usr/bin/printf' train '<%s>' 'it'\''s $(false) "x"; exit' --resume --out "$home/run" --workers 3)"));
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
