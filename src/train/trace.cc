#include "train/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "train/json_text.h"

namespace hocket {
namespace {

constexpr std::array<std::string_view, 6> kKindNames{"compute", "data", "communication",
                                                     "wait",    "eval", "checkpoint"};

template <typename Item>
std::uint16_t add(std::vector<Item>& items, Item item) {
  HOCKET_CHECK(items.size() < std::numeric_limits<std::uint16_t>::max(), "too many names in a timeline");
  items.push_back(std::move(item));
  return static_cast<std::uint16_t>(items.size() - 1);
}

}  // namespace

std::string_view name_of(SpanKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

Timeline::Timeline(std::size_t capacity, Time origin)
    : origin_(origin), spans_(std::max<std::size_t>(capacity, 1)) {}

std::uint16_t Timeline::add_name(std::string name, SpanKind kind) {
  return add(names_, Name{std::move(name), kind});
}

std::uint16_t Timeline::add_thread(std::string name) { return add(threads_, std::move(name)); }

TraceEvents Timeline::events(int rank, Time zero, std::size_t most) const {
  TraceEvents events;
  const auto out = std::back_inserter(events.json);
  const auto add_name = [&](std::string_view what, std::size_t thread, std::string_view name) {
    fmt::format_to(out, R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}},)", what, rank,
                   thread, json_string(name));
    events.json += '\n';
  };
  add_name("process_name", 0, fmt::format("rank {}", rank));
  for (std::size_t i = 0; i < threads_.size(); ++i) add_name("thread_name", i, threads_[i]);

  const std::int64_t shift = nanoseconds(zero);
  const std::uint64_t count = std::min<std::uint64_t>({recorded(), spans_.size(), most});
  for (std::uint64_t i = recorded() - count; i < recorded(); ++i) {
    const Span& span = spans_[i % spans_.size()];
    const Name& name = names_[span.name];
    fmt::format_to(out, R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f})",
                   json_string(name.text), name_of(name.kind), rank, span.thread,
                   static_cast<double>(span.start - shift) / 1e3,
                   static_cast<double>(span.end - span.start) / 1e3);
    if (span.bytes > 0) fmt::format_to(out, R"(,"args":{{"bytes":{}}})", span.bytes);
    events.json += "},\n";
  }
  events.dropped = recorded() - count;
  return events;
}

std::string chrome_trace(const TraceEvents& events) {
  std::string_view list = events.json;
  list = list.substr(0, list.rfind(','));  // JSON wants none after the last.
  return fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[{}\n],\"otherData\":{{\"spans_dropped\":{}}}}}\n", list,
      events.dropped);
}

}  // namespace hocket
