#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "graph/operator.h"
#include "graph/text.h"
#include "graph/text_cursor.h"

namespace hocket {
namespace {

// The role of the source whose line starts with `word`; nothing for other lines.
std::optional<Role> source_role(std::string_view word) {
  if (word == "input") return Role::input;
  if (word == "parameter") return Role::parameter;
  if (word == "buffer") return Role::buffer;
  if (word == "state") return Role::state;
  return std::nullopt;
}

class TextParser {
 public:
  explicit TextParser(std::int64_t batch) : batch_(batch) {}

  // A source, an output, a node or nothing. A line such as "input = relu(x)" is a node: a second word tells.
  void read_line(std::string_view line) {
    TextCursor cursor(line, batch_);
    if (cursor.at_end()) return;
    const std::string_view first = cursor.name("input, parameter, buffer, output or the name of a node");
    if (!cursor.at_name()) {
      read_node(first, cursor);
    } else if (const std::optional<Role> role = source_role(first)) {
      read_source(*role, cursor);
    } else if (first == "output") {
      read_output(cursor);
    } else {
      throw ConfigError("expected input, parameter, buffer, output or NAME = OPERATOR(…), found '{}'{}",
                        first, did_you_mean(first, kKeywords));
    }
  }

  std::unique_ptr<Graph> take() {
    const Value weight = graph_->find("weight");
    if (weight && weight.info().role == Role::input && weight.type() != Type{DType::f32, {batch_}}) {
      throw ConfigError("the input weight is {}, expected f32[N]: the weight of each sample",
                        to_string(weight.type()));
    }
    return std::move(graph_);
  }

 private:
  static constexpr std::string_view kKeywords[] = {"input", "parameter", "buffer", "state", "output"};

  void read_source(Role role, TextCursor& cursor) {
    const std::string_view name = cursor.name("a name");
    const Type type = cursor.type();
    graph_->source(name, type, role, cursor.attributes());
  }

  void read_output(TextCursor& cursor) {
    const std::string_view name = cursor.name("a name");
    const Value value = find(cursor.take('=') ? cursor.name("the name of a value") : name);
    cursor.expect_end();
    if (graph_->output(name)) throw ConfigError("the output {} is given twice", name);
    graph_->set_output(name, value);
  }

  void read_node(std::string_view first, TextCursor& cursor) {
    std::vector<std::string_view> names{first};
    while (cursor.take(',')) names.push_back(cursor.name("the name of an output"));
    cursor.expect('=');
    const std::string_view op = cursor.name("an operator");
    const std::vector<Value> operands = read_operands(cursor);
    if (graph_->find(first)) throw ConfigError("the graph has two values called {}", first);
    if (graph_->nodes().size() == kMaxTextNodes) {
      throw ConfigError("the graph has more than {} nodes", kMaxTextNodes);
    }
    check_names(names, graph_->apply(op, operands, cursor.attributes(), first));
  }

  std::vector<Value> read_operands(TextCursor& cursor) {
    std::vector<Value> operands;
    cursor.expect('(');
    while (!cursor.take(')')) {
      if (!operands.empty()) cursor.expect(',');
      operands.push_back(find(cursor.name("an operand")));
    }
    return operands;
  }

  // Outputs are called after the node: y, y:1, y:2, …. A line may leave out all but the first.
  static void check_names(const std::vector<std::string_view>& names, const std::vector<Value>& outputs) {
    if (names.size() > std::max<std::size_t>(outputs.size(), 1)) {
      throw ConfigError("{} outputs named, but the operator has {}", names.size(), outputs.size());
    }
    for (std::size_t i = 1; i < names.size(); ++i) {
      const std::string& given = outputs[i].info().name;
      if (names[i] != given) {
        throw ConfigError("output {} of {} is called {}, not {}", i, names[0], given, names[i]);
      }
    }
  }

  Value find(std::string_view name) {
    if (const Value value = graph_->find(name)) return value;
    std::vector<std::string_view> known;
    known.reserve(static_cast<std::size_t>(graph_->value_count()));
    for (ValueId id = 0; id < graph_->value_count(); ++id) known.push_back(graph_->value(id).name);
    throw ConfigError("unknown value {}{}", name, did_you_mean(name, known));
  }

  std::int64_t batch_;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
};

}  // namespace

std::unique_ptr<Graph> parse_text(std::string_view text, std::string_view file, std::int64_t batch) {
  if (batch < 1 || batch > std::numeric_limits<std::int32_t>::max()) {
    throw ConfigError("a batch of {} samples", batch);
  }
  if (text.size() > kMaxTextBytes) {
    throw ConfigError("{}: {} bytes, a model file has at most {}", file, text.size(), kMaxTextBytes);
  }
  TextParser parser(batch);
  int line_number = 0;
  try {
    while (!text.empty()) {
      ++line_number;
      const std::size_t length = std::min(text.find('\n'), text.size());
      parser.read_line(text.substr(0, length));
      text.remove_prefix(std::min(length + 1, text.size()));
    }
    return parser.take();
  } catch (const ConfigError& error) {
    throw ConfigError("{}:{}: {}", file, line_number, error.what());
  }
}

}  // namespace hocket
