#include "net/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "net/socket.h"

namespace hocket {
namespace {

using Source = Environment::Source;

// A set of variables that belong together: found when all are there, a mistake when only some are.
struct Convention {
  Source source;
  std::string_view name;
  std::vector<std::string> needed;
  void (*fill)(const Variables& variables, Environment& environment);
};

template <typename Number>
Number number(const Variables& variables, const std::string& name, Number low, Number high) {
  const std::string text = variables(name).value_or("");
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    throw ConfigError("{}={}: expected a number from {} to {}", name, text, low, high);
  }
  return value;
}

constexpr int kMaxWorld = 1 << 20;

void fill_rank(const Variables& variables, Environment& environment, const std::string& rank,
               const std::string& size, const std::string& local_rank) {
  environment.world_size = number(variables, size, 1, kMaxWorld);
  environment.rank = number(variables, rank, 0, kMaxWorld);
  if (environment.rank >= environment.world_size) {
    throw ConfigError("{}={} contradicts {}={}: ranks count from 0", rank, environment.rank, size,
                      environment.world_size);
  }
  environment.local_rank =
      variables(local_rank) ? number(variables, local_rank, 0, kMaxWorld) : environment.rank;
}

void fill_master(const Variables& variables, Environment& environment) {
  if (!variables("MASTER_ADDR") || !variables("MASTER_PORT")) return;
  environment.coordinator_host = *variables("MASTER_ADDR");
  environment.coordinator_port = number<std::uint16_t>(variables, "MASTER_PORT", 1, 65535);
}

void fill_hocket(const Variables& variables, Environment& environment) {
  fill_rank(variables, environment, "HOCKET_RANK", "HOCKET_WORLD_SIZE", "HOCKET_LOCAL_RANK");
  const Endpoint coordinator = parse_endpoint(*variables("HOCKET_COORDINATOR"));
  environment.coordinator_host = coordinator.address;
  environment.coordinator_port = coordinator.port;
  environment.key_fd = number(variables, "HOCKET_KEY_FD", 0, 1 << 20);
  if (variables("HOCKET_RESTARTS")) environment.restarts = number(variables, "HOCKET_RESTARTS", 0, 1 << 20);
}

void fill_torchrun(const Variables& variables, Environment& environment) {
  fill_rank(variables, environment, "RANK", "WORLD_SIZE", "LOCAL_RANK");
  fill_master(variables, environment);
  // torchrun's agent has its own store at MASTER_PORT.
  if (variables("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True") ++environment.coordinator_port;
  environment.meeting_name =
      fmt::format("torchrun {} {}", environment.coordinator_host, environment.coordinator_port);
}

void fill_mpi(const Variables& variables, Environment& environment) {
  fill_rank(variables, environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK");
  fill_master(variables, environment);
  const auto name_space = variables("PMIX_NAMESPACE");
  environment.meeting_name =
      "mpi " + (name_space ? *name_space : variables("OMPI_MCA_ess_base_jobid").value_or(""));
}

void fill_pmi(const Variables& variables, Environment& environment) {
  fill_rank(variables, environment, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID");
  fill_master(variables, environment);
  if (variables("PMI_FD")) environment.pmi_fd = number(variables, "PMI_FD", 0, 1 << 20);
  environment.meeting_name = "pmi " + variables("PMI_JOBID").value_or(variables("PMI_PORT").value_or(""));
}

void fill_slurm(const Variables& variables, Environment& environment) {
  const std::string size = variables("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  fill_rank(variables, environment, "SLURM_PROCID", size, "SLURM_LOCALID");
  const std::string job = variables("SLURM_JOB_ID").value_or("0");
  const std::string step = variables("SLURM_STEP_ID").value_or("0");
  environment.meeting_name = fmt::format("slurm {} {}", job, step);
  fill_master(variables, environment);
  if (!environment.coordinator_host.empty()) return;
  // The launching node may be a login node, so it is the first node of the step that counts.
  for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    if (!variables(list)) continue;
    environment.coordinator_host = first_host(*variables(list));
    const unsigned long spread =
        31 * std::strtoul(job.c_str(), nullptr, 10) + std::strtoul(step.c_str(), nullptr, 10);
    environment.coordinator_port = static_cast<std::uint16_t>(20000 + spread % 10000);
    return;
  }
}

const std::vector<Convention>& conventions() {
  static const std::vector<Convention> all{
      {Source::hocket_launch,
       "hocket launch",
       {"HOCKET_RANK", "HOCKET_WORLD_SIZE", "HOCKET_COORDINATOR", "HOCKET_KEY_FD"},
       fill_hocket},
      {Source::torchrun,
       "torchrun's variables",
       {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"},
       fill_torchrun},
      {Source::mpi, "mpirun", {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, fill_mpi},
      {Source::pmi, "PMI", {"PMI_RANK", "PMI_SIZE"}, fill_pmi},
      {Source::slurm, "Slurm", {"SLURM_PROCID", "SLURM_NTASKS"}, fill_slurm},
      {Source::mpi, "PMIx", {"PMIX_RANK", "OMPI_COMM_WORLD_SIZE"}, fill_mpi},
  };
  return all;
}

std::string partial_set(const Convention& convention, const Variables& variables) {
  std::vector<std::string> found;
  std::vector<std::string> missing;
  for (const std::string& name : convention.needed) (variables(name) ? found : missing).push_back(name);
  // Jobs of Slurm without tasks, as salloc's shell has them, start nothing.
  if (found.empty() || (convention.source == Source::slurm && missing.front() == "SLURM_PROCID")) return "";
  return fmt::format(
      "{} set without {}: a part of what {} sets; set the rest, or unset {} to run one process",
      fmt::join(found, ", "), fmt::join(missing, ", "), convention.name, found.size() == 1 ? "it" : "them");
}

}  // namespace

Variables process_variables() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

Environment detect_environment(const Variables& variables) {
  Environment environment;
  environment.key_hex = variables("HOCKET_JOB_KEY");
  environment.plaintext = variables("HOCKET_PLAINTEXT").value_or("0") != "0";
  std::string mistake;
  for (const Convention& convention : conventions()) {
    bool is_complete = true;
    for (const std::string& name : convention.needed)
      is_complete = is_complete && variables(name).has_value();
    if (is_complete) {
      environment.source = convention.source;
      convention.fill(variables, environment);
      return environment;
    }
    if (mistake.empty()) mistake = partial_set(convention, variables);
  }
  if (!mistake.empty()) throw ConfigError("{}", mistake);
  return environment;
}

std::string describe(const Environment& environment) {
  if (environment.source == Source::alone) return "one process, started by itself";
  for (const Convention& convention : conventions()) {
    if (convention.source != environment.source) continue;
    return fmt::format("rank {} of {}, by {}", environment.rank, environment.world_size, convention.name);
  }
  return "";
}

std::string first_host(std::string_view node_list) {
  const std::size_t end = node_list.find_first_of(",[");
  std::string host(node_list.substr(0, end));
  if (end == std::string_view::npos || node_list[end] == ',') return host;
  const std::size_t close = node_list.find(']', end);
  if (close == std::string_view::npos) throw ConfigError("the node list '{}' lacks a ]", node_list);
  const std::string_view numbers = node_list.substr(end + 1, close - end - 1);
  host += numbers.substr(0, numbers.find_first_of(",-"));
  const std::string_view rest = node_list.substr(close + 1);
  host += rest.substr(0, rest.find(','));
  return host;
}

}  // namespace hocket
