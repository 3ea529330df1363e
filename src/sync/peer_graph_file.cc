// A graph as text: one edge a line. The parser trusts nothing.
#include <charconv>
#include <optional>

#include "base/error.h"
#include "sync/peer_graph.h"

namespace hocket {
namespace {

struct Edge {
  int from = 0;
  int to = 0;
  bool one_way = false;
};

// The words of one line, without its comment.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line.substr(0, line.find('#'))) { skip_blanks(); }

  bool empty() const { return rest_.empty(); }
  std::optional<int> take_number() {
    int value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    skip_blanks();
    return value;
  }
  bool take_arrow() {
    if (!rest_.starts_with("->")) return false;
    rest_.remove_prefix(2);
    skip_blanks();
    return true;
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size())); }

  std::string_view rest_;
};

std::optional<Edge> parse_edge(Words words) {
  const std::optional<int> from = words.take_number();
  const bool one_way = words.take_arrow();
  const std::optional<int> to = words.take_number();
  if (!from || !to || !words.empty()) return std::nullopt;
  return Edge{*from, *to, one_way};
}

}  // namespace

PeerGraph parse_peer_graph(std::string_view text, int size, const std::string& file) {
  PeerGraph graph(size);
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const Words words(line);
    if (words.empty()) continue;
    const std::optional<Edge> edge = parse_edge(words);
    if (!edge) throw DataError("{}: line {}: expected 'A B' or 'A -> B', found '{}'", file, number, line);
    for (const int peer : {edge->from, edge->to}) {
      if (peer < 0 || peer >= size)
        throw DataError("{}: line {}: worker {} is not one of 0 to {}", file, number, peer, size - 1);
    }
    if (edge->from == edge->to)
      throw DataError("{}: line {}: worker {} is joined to itself", file, number, edge->from);
    const bool is_new = graph.try_connect(edge->from, edge->to);
    const bool is_new_back = !edge->one_way && graph.try_connect(edge->to, edge->from);
    if (!is_new && !is_new_back)
      throw DataError("{}: line {}: {} and {} are joined already", file, number, edge->from, edge->to);
  }
  return graph;
}

}  // namespace hocket
