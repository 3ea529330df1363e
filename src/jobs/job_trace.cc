#include "jobs/job_trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"

namespace hocket {
namespace {

constexpr double kMostSeconds = 1e12;

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

std::optional<double> find_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// "2017-10-09 07:01:55" or with a T, as UTC.
std::optional<double> find_date(const std::string& text) {
  std::tm date = {};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%d", &date);
  if (end == nullptr || (*end != ' ' && *end != 'T')) return std::nullopt;
  end = ::strptime(end + 1, "%H:%M:%S", &date);
  if (end == nullptr || *end != 0) return std::nullopt;
  return static_cast<double>(::timegm(&date));
}

// One line, and what is said about it.
class Row {
 public:
  Row(std::string_view file, std::size_t line, const std::map<std::string, std::size_t>& columns,
      std::vector<std::string_view> cells)
      : file_(file), line_(line), columns_(columns), cells_(std::move(cells)) {}

  bool has(const std::string& column) const { return columns_.contains(column); }
  std::string text(const std::string& column) const { return std::string(cells_[columns_.at(column)]); }

  double number(const std::string& column, double low, double high, const char* expected) const {
    const auto value = find_number(cells_[columns_.at(column)]);
    if (!value || *value < low || *value > high) fail(column, expected);
    return *value;
  }
  int count(const std::string& column) const {
    const char* expected = "a whole number from 1 on";
    const double value = number(column, 1, 1e6, expected);
    if (value != std::floor(value)) fail(column, expected);
    return static_cast<int>(value);
  }
  double time() const {
    const std::string column = "timestamp";
    if (const auto date = find_date(text(column))) return *date;
    return number(column, -kMostSeconds, kMostSeconds, "a time as 2017-10-09 07:01:55, or seconds");
  }

  [[noreturn]] void fail(const std::string& column, std::string_view expected) const {
    throw DataError("{}, line {}, column {} ({}): expected {}, found \"{}\"", file_, line_,
                    columns_.at(column) + 1, column, expected, cells_[columns_.at(column)]);
  }

 private:
  std::string_view file_;
  std::size_t line_;
  const std::map<std::string, std::size_t>& columns_;
  std::vector<std::string_view> cells_;
};

ClusterJob job_of(const Row& row) {
  ClusterJob job;
  const char* seconds = "seconds from 0 on";
  job.submitted = row.time();
  job.length = row.number("duration", 0, kMostSeconds, seconds);
  job.max_workers = job.min_workers = row.count("num_gpus");
  if (row.has("gpu_time")) {
    const double product = *job.length * job.max_workers;
    const double said = row.number("gpu_time", 0, kMostSeconds * 1e6, seconds);
    if (std::abs(said - product) > 1e-6 * (1 + product))
      row.fail("gpu_time", fmt::format("{} (duration × num_gpus)", product));
  }
  if (row.has("cluster")) job.owner = row.text("cluster");
  if (row.has("name")) job.name = row.text("name");
  if (row.has("min_gpus")) {
    job.min_workers = row.count("min_gpus");
    if (job.min_workers > job.max_workers) row.fail("min_gpus", "at most num_gpus");
  }
  if (row.has("memory"))
    job.memory_bytes = static_cast<std::int64_t>(row.number("memory", 0, 1e15, "bytes from 0 on"));
  if (row.has("priority")) job.priority = static_cast<int>(row.number("priority", -100, 100, "-100 to 100"));
  job.bytes_per_step = row.has("bytes_per_step") ? row.number("bytes_per_step", 0, 1e15, "bytes from 0 on")
                                                 : (job.max_workers > 1 ? 1.0 : 0.0);
  return job;
}

std::map<std::string, std::size_t> columns_of(std::string_view header, std::string_view name) {
  std::map<std::string, std::size_t> columns;
  const auto cells = cells_of(header);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!columns.emplace(cells[i], i).second)
      throw DataError("{}, line 1, column {}: a second column \"{}\"", name, i + 1, cells[i]);
  }
  for (const char* needed : {"timestamp", "duration", "num_gpus"}) {
    if (!columns.contains(needed))
      throw DataError("{}, line 1: expected a header with the column {}, found \"{}\"", name, needed, header);
  }
  return columns;
}

void sort_and_count_from_zero(JobTrace& trace) {
  std::stable_sort(trace.begin(), trace.end(),
                   [](const ClusterJob& a, const ClusterJob& b) { return a.submitted < b.submitted; });
  const double first = trace.front().submitted;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    trace[i].submitted -= first;
    trace[i].id = static_cast<JobId>(i);
  }
}

}  // namespace

JobTrace parse_job_trace(std::string_view text, std::string_view name) {
  JobTrace trace;
  std::map<std::string, std::size_t> columns;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    std::string_view here = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!here.empty() && here.back() == '\r') here.remove_suffix(1);
    if (line == 1) {
      columns = columns_of(here, name);
      continue;
    }
    if (here.empty()) continue;
    auto cells = cells_of(here);
    if (cells.size() != columns.size())
      throw DataError("{}, line {}, column {}: expected {} columns as in the header, found {}", name, line,
                      std::min(cells.size(), columns.size()) + 1, columns.size(), cells.size());
    trace.push_back(job_of(Row(name, line, columns, std::move(cells))));
  }
  if (trace.empty()) throw DataError("{}: expected a header and at least one job", name);
  sort_and_count_from_zero(trace);
  return trace;
}

JobTrace read_job_trace(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw DataError("{}: cannot be opened: {}", file.string(), std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  return parse_job_trace(text.str(), file.string());
}

}  // namespace hocket
