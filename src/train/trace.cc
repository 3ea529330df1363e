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

std::string Timeline::chrome_trace(int rank) const {
  std::string json = R"({"displayTimeUnit":"ms","traceEvents":[)";
  const auto out = std::back_inserter(json);
  const auto name_part = [&](const char* what, std::size_t tid, std::string_view name) {
    fmt::format_to(out, R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}},)", what, rank,
                   tid, json_string(name));
    json += '\n';
  };
  for (std::size_t i = 0; i < threads_.size(); ++i) name_part("thread_name", i, threads_[i]);

  const std::uint64_t count = std::min<std::uint64_t>(recorded(), spans_.size());
  for (std::uint64_t i = recorded() - count; i < recorded(); ++i) {
    const Span& span = spans_[i % spans_.size()];
    const Name& name = names_[span.name];
    fmt::format_to(out, R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}},)",
                   json_string(name.text), name_of(name.kind), rank, span.thread,
                   static_cast<double>(span.start) / 1e3, static_cast<double>(span.end - span.start) / 1e3);
    json += '\n';
  }
  fmt::format_to(
      out, R"({{"ph":"M","name":"process_name","pid":{0},"tid":0,"args":{{"name":"rank {0}"}}}}],)", rank);
  fmt::format_to(out, R"("otherData":{{"spans_dropped":{}}}}})", recorded() - count);
  json += '\n';
  return json;
}

}  // namespace hocket
