#include "train/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "train/file_system.h"
#include "train/json_text.h"

namespace hocket {
namespace {

// Whether `line` is a row of a step up to `last_step`.
bool is_kept(std::string_view line, std::int64_t last_step) {
  const nlohmann::json row =
      nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!row.is_object()) return false;
  const auto step = row.find("step");
  return step != row.end() && step->is_number_integer() && step->get<std::int64_t>() <= last_step;
}

std::string rows_up_to(const std::filesystem::path& path, std::int64_t last_step) {
  std::string kept;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && !file.eof();) {  // A line without its end is torn.
    if (is_kept(line, last_step)) kept += line + '\n';
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path) : path_(path) { open(O_TRUNC); }

MetricsLog::MetricsLog(const std::filesystem::path& path, std::int64_t last_step) : path_(path) {
  write_file_atomically(posix_file_system(), path_, rows_up_to(path_, last_step));
  open(O_APPEND);
}

MetricsLog::~MetricsLog() { ::close(fd_); }

void MetricsLog::open(int flags) {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (fd_ < 0) throw Error("cannot create {}: {}", path_.string(), std::strerror(errno));
}

void MetricsLog::write(const TrainMetrics& metrics) {
  begin("train", metrics.step, metrics.epoch, metrics.seconds);
  add("loss", metrics.loss);
  if (metrics.accuracy) add("accuracy", *metrics.accuracy);
  add("learning_rate", metrics.learning_rate);
  add("samples_per_second", metrics.samples_per_second);
  if (metrics.gradient_norm) add("gradient_norm", *metrics.gradient_norm);
  if (metrics.tau) add("tau", static_cast<double>(*metrics.tau));
  const char* separator = R"(,"gradient_norms":{)";
  for (const auto& [layer, norm] : metrics.gradient_norms) {
    fmt::format_to(std::back_inserter(line_), "{}{}:{}", separator, json_string(layer), json_number(norm));
    separator = ",";
  }
  if (!metrics.gradient_norms.empty()) line_.push_back('}');
  end();
}

void MetricsLog::write(const EvalMetrics& metrics) {
  begin("eval", metrics.step, metrics.epoch, metrics.seconds);
  fmt::format_to(std::back_inserter(line_), R"(,"set":"{}")", metrics.set);
  add("loss", metrics.loss);
  if (metrics.accuracy) add("accuracy", *metrics.accuracy);
  if (metrics.auc) add("auc", *metrics.auc);
  if (metrics.consensus_distance) add("consensus_distance", *metrics.consensus_distance);
  end();
}

void MetricsLog::begin(std::string_view kind, std::int64_t step, double epoch, double seconds) {
  line_.clear();
  fmt::format_to(std::back_inserter(line_), R"({{"kind":"{}","step":{})", kind, step);
  add("epoch", epoch);
  add("seconds", seconds);
}

void MetricsLog::add(std::string_view key, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(line_), R"(,"{}":{})", key, value);
  } else {
    fmt::format_to(std::back_inserter(line_), R"(,"{}":null)", key);
  }
}

void MetricsLog::end() {
  line_.push_back('}');
  line_.push_back('\n');
  for (std::size_t done = 0; done < line_.size();) {
    const ssize_t written = ::write(fd_, line_.data() + done, line_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error("cannot write {}: {}", path_.string(), std::strerror(errno));
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace hocket
