#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

// A job as it is handed to Slurm.
struct SlurmJob {
  std::string name;
  std::string program;             // The path of hocket.
  std::vector<std::string> words;  // The options of `hocket train`.
  std::string folder;              // Where the command starts.
  std::string jobs_folder;         // The job has its run in jobs_folder/NUMBER/run, and its log beside that.
  int workers = 1;
  std::int64_t memory_bytes = 0;  // Of each worker; 0: as the site has it.
  std::optional<double> length;   // Seconds.
};

// `word` as one word of a shell, whatever is in it.
std::string shell_quoted(std::string_view word);

// The script that Slurm runs. Each start resumes the run. Two signals to the script alone have the training
// write a checkpoint and end: after USR1, which Slurm sends before the time limit, the job is queued anew;
// after USR2 it is queued and held. SIGTERM reaches the training from Slurm itself.
std::string slurm_script(const SlurmJob& job);

// sbatch and its options; the script goes to its standard input. Throws ConfigError for a folder that Slurm
// would not take by its name.
std::vector<std::string> sbatch_words(const SlurmJob& job);

}  // namespace hocket
