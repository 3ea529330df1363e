#include "net/pmi.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/job_key.h"
#include "net/socket.h"

namespace hocket {
namespace {

constexpr std::size_t kMaxLine = 8192;

// The value of `name` in a line such as "cmd=get_result rc=0 value=00ff".
std::string field_of(std::string_view line, std::string_view name) {
  while (!line.empty()) {
    const std::size_t end = line.find(' ');
    const std::string_view field = line.substr(0, end);
    if (field.size() > name.size() && field.starts_with(name) && field[name.size()] == '=') {
      return std::string(field.substr(name.size() + 1));
    }
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return "";
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const std::size_t high = std::string_view("0123456789abcdef").find(text[i]);
    const std::size_t low = std::string_view("0123456789abcdef").find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(16 * high + low));
  }
  return bytes;
}

class PmiSession {
 public:
  PmiSession(int fd, Rank rank, int world_size, Seconds timeout)
      : fd_(fd), rank_(rank), world_size_(world_size), timeout_(timeout) {
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    name_ = field_of(ask("cmd=get_my_kvsname", "my_kvsname"), "kvsname");
  }
  ~PmiSession() {
    try {
      ask("cmd=finalize", "finalize_ack");
    } catch (const NetError&) {  // The launcher has gone; ranks learn of that elsewhere.
    }
  }
  PmiSession(const PmiSession&) = delete;
  PmiSession& operator=(const PmiSession&) = delete;

  std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) {
    const int round = round_++;
    // A value is never empty: some launchers refuse that.
    ask(fmt::format("cmd=put kvsname={} key={} value=x{}", name_, key(round, rank_), to_hex(mine)),
        "put_result");
    ask("cmd=barrier_in", "barrier_out");
    std::vector<std::vector<std::byte>> all;
    for (Rank rank = 0; rank < world_size_; ++rank) {
      const std::string line =
          ask(fmt::format("cmd=get kvsname={} key={}", name_, key(round, rank)), "get_result");
      const std::string value = field_of(line, "value");
      const auto bytes = from_hex(std::string_view(value).substr(value.empty() ? 0 : 1));
      if (value.empty() || !bytes) throw NetError("PMI: rank {} left no value: {}", rank, line);
      all.push_back(*bytes);
    }
    return all;
  }

 private:
  static std::string key(int round, Rank rank) { return fmt::format("hocket-{}-{}", round, rank); }

  std::string ask(std::string question, std::string_view answer) {
    question += '\n';
    if (::write(fd_, question.data(), question.size()) != static_cast<ssize_t>(question.size())) {
      throw NetError("PMI: the launcher does not listen");
    }
    const std::string line = read_line();
    const std::string code = field_of(line, "rc");
    if (field_of(line, "cmd") != answer || (!code.empty() && code != "0")) {
      throw NetError("PMI: expected {}, found: {}", answer, line);
    }
    return line;
  }

  std::string read_line() const {
    const TimePoint deadline = after(timeout_);
    std::string line;
    for (char byte = 0; line.size() < kMaxLine; line += byte) {
      if (!wait_for(fd_, POLLIN, deadline))
        throw NetError("PMI: no answer within {:.3g} s", timeout_.count());
      if (::read(fd_, &byte, 1) != 1) throw NetError("PMI: the launcher closed the connection");
      if (byte == '\n') return line;
    }
    throw NetError("PMI: a line without end");
  }

  int fd_;
  Rank rank_;
  int world_size_;
  Seconds timeout_;
  std::string name_;
  int round_ = 0;
};

}  // namespace

Exchange pmi_exchange(int fd, Rank rank, int world_size, Seconds timeout) {
  return [session = std::make_shared<PmiSession>(fd, rank, world_size, timeout)](
             std::span<const std::byte> mine) { return session->exchange(mine); };
}

}  // namespace hocket
