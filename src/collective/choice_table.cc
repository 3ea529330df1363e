#include <toml++/toml.h>

#include "base/error.h"
#include "collective/choose.h"

namespace hocket {
namespace {

class Reader {
 public:
  Reader(const toml::table& root, const std::string& file) : root_(root), file_(file) {}

  ChoiceTable read() const {
    const std::string order = text(root_, "reduce_order");
    if (order != "rank" && order != "any") fail(root_, "reduce_order: expected \"rank\" or \"any\"");
    ChoiceTable table(static_cast<int>(number(root_, "world", std::numeric_limits<int>::max())),
                      order == "rank" ? ReduceOrder::rank : ReduceOrder::any);
    const toml::array* choices = root_.get_as<toml::array>("choice");
    if (choices == nullptr) return table;
    for (const toml::node& node : *choices) {
      const toml::table* entry = node.as_table();
      if (entry == nullptr) fail(node, "choice: expected [[choice]]");
      const ChoiceTable::Choice choice = read_choice(*entry);
      if (!is_next(table, choice))
        fail(node, "choice: expected growing sizes of one collective after the other");
      table.add(choice);
    }
    return table;
  }

 private:
  [[noreturn]] void fail(const toml::node& node, const std::string& message) const {
    throw ConfigError("{}:{}:{}: {}", file_, node.source().begin.line, node.source().begin.column, message);
  }

  std::string text(const toml::table& table, std::string_view key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr || !node->is_string()) fail(table, fmt::format("{}: expected a string", key));
    return node->as_string()->get();
  }

  std::int64_t number(const toml::table& table, std::string_view key, std::int64_t most) const {
    const toml::node* node = table.get(key);
    if (node == nullptr || !node->is_integer()) fail(table, fmt::format("{}: expected a whole number", key));
    const std::int64_t value = node->as_integer()->get();
    if (value < 1 || value > most) fail(*node, fmt::format("{}: expected a number from 1 to {}", key, most));
    return value;
  }

  ChoiceTable::Choice read_choice(const toml::table& table) const {
    ChoiceTable::Choice choice;
    const std::string collective = text(table, "collective");
    const std::string algorithm = text(table, "algorithm");
    const std::optional<Collective> found = find_collective(collective);
    const std::optional<Algorithm> way = find_algorithm(algorithm);
    if (!found) fail(table, fmt::format("unknown collective {}", collective));
    if (!way || *way == Algorithm::automatic) fail(table, fmt::format("unknown algorithm {}", algorithm));
    choice.collective = *found;
    choice.algorithm = *way;
    if (table.contains("up_to_bytes")) {
      choice.up_to_bytes =
          static_cast<std::uint64_t>(number(table, "up_to_bytes", std::numeric_limits<std::int64_t>::max()));
    }
    return choice;
  }

  static bool is_next(const ChoiceTable& table, const ChoiceTable::Choice& choice) {
    for (const ChoiceTable::Choice& other : table.choices()) {
      if (other.collective == choice.collective && other.up_to_bytes >= choice.up_to_bytes) return false;
    }
    return true;
  }

  const toml::table& root_;
  const std::string& file_;
};

}  // namespace

void ChoiceTable::add(const Choice& choice) {
  if (!choices_.empty() && choices_.back().collective == choice.collective) {
    HOCKET_CHECK(choices_.back().up_to_bytes < choice.up_to_bytes, "choices must grow");
    if (choices_.back().algorithm == choice.algorithm) choices_.pop_back();
  }
  choices_.push_back(choice);
}

std::optional<Algorithm> ChoiceTable::find(Collective collective, std::uint64_t bytes) const {
  for (const Choice& choice : choices_) {
    if (choice.collective == collective && bytes <= choice.up_to_bytes) return choice.algorithm;
  }
  return std::nullopt;
}

std::string ChoiceTable::text() const {
  std::string text = fmt::format("world = {}\nreduce_order = \"{}\"\n", world_, name_of(order_));
  for (const Choice& choice : choices_) {
    text += fmt::format("\n[[choice]]\ncollective = \"{}\"\n", name_of(choice.collective));
    if (choice.up_to_bytes != kUnbounded) text += fmt::format("up_to_bytes = {}\n", choice.up_to_bytes);
    text += fmt::format("algorithm = \"{}\"\n", name_of(choice.algorithm));
  }
  return text;
}

ChoiceTable ChoiceTable::parse(std::string_view text, const std::string& file) {
  try {
    const toml::table root = toml::parse(text, file);
    return Reader(root, file).read();
  } catch (const toml::parse_error& error) {
    throw ConfigError("{}:{}:{}: {}", file, error.source().begin.line, error.source().begin.column,
                      error.description());
  }
}

}  // namespace hocket
