#include "cli/slurm/slurm_tool.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/error.h"
#include "cli/launch/rank_command.h"
#include "cli/launch/rank_process.h"
#include "net/socket.h"

namespace hocket {
namespace {

// False at the end.
bool read_more(const FileDescriptor& from, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
  if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

// Until both ends are closed; false at the deadline.
bool read_all(RankProcess& process, std::string& out, std::string& err, TimePoint deadline) {
  while (process.out.is_open() || process.err.is_open()) {
    std::array<pollfd, 2> polls{{{process.out.get(), POLLIN, 0}, {process.err.get(), POLLIN, 0}}};
    if (::poll(polls.data(), polls.size(), milliseconds_until(deadline)) == 0) return false;
    if (polls[0].revents != 0 && !read_more(process.out, out)) process.out.reset();
    if (polls[1].revents != 0 && !read_more(process.err, err)) process.err.reset();
  }
  return wait_for(process.exit.get(), POLLIN, deadline);
}

// "sbatch: error: it cannot be" → "it cannot be"
std::string last_complaint(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  text.remove_prefix(text.rfind('\n') + 1);
  constexpr std::string_view kMark = "error: ";
  if (const std::size_t mark = text.find(kMark); mark != std::string_view::npos)
    text.remove_prefix(mark + kMark.size());
  return std::string(text);
}

}  // namespace

ToolResult run_tool(const std::vector<std::string>& words, const std::string& input, Seconds patience) {
  ProcessOptions options;
  options.words = words;
  options.environment = this_environment();
  options.pipes_output = true;
  options.input = input;
  RankProcess process;
  try {
    process = start_process(options);
  } catch (const ConfigError&) {
    throw ConfigError("jobs: {} is not here; --backend slurm needs the programs of Slurm", words[0]);
  }
  ToolResult result;
  std::string err;
  const bool has_ended = read_all(process, result.out, err, after(patience));
  if (!has_ended) ::kill(-process.pid, SIGKILL);
  int status = 0;
  ::waitpid(process.pid, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (result.exit_code == 0) return result;
  result.complaint = last_complaint(err);
  if (!has_ended) result.complaint = "it does not end; is Slurm's controller there?";
  if (result.complaint.empty()) result.complaint = fmt::format("exit code {}", result.exit_code);
  return result;
}

std::string output_of(const std::vector<std::string>& words, const std::string& input) {
  ToolResult result = run_tool(words, input);
  if (result.exit_code != 0) throw Error("jobs: {} failed: {}", words[0], result.complaint);
  return std::move(result.out);
}

}  // namespace hocket
