#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "data/convert.h"
#include "data/describe.h"
#include "data/open.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct NamedPart {
  std::string name;
  const Dataset& data;
};

std::vector<NamedPart> named_parts(const DataParts& parts) {
  std::vector<NamedPart> result{{"train", *parts.train}};
  if (parts.test != nullptr) result.push_back({"test", *parts.test});
  return result;
}

int list_kinds(const Arguments& arguments) {
  OrderedJson json = OrderedJson::array();
  std::string text;
  for (const DataKind& kind : data_kinds()) {
    text += fmt::format("{:<18} {}\n", kind.usage, kind.what);
    if (!kind.options.empty())
      text += fmt::format("{:<18}   options: {}\n", "", fmt::join(kind.options, ", "));
    json.push_back(
        {{"name", kind.name}, {"usage", kind.usage}, {"what", kind.what}, {"options", kind.options}});
  }
  write_output(arguments.has("json") ? json.dump(2) + '\n' : text);
  return kDone;
}

OrderedJson to_json(const DataDescription& description) {
  const DataInfo& info = description.info;
  OrderedJson json{
      {"samples", info.size}, {"task", name_of(info.task)}, {"classes", info.classes}, {"bytes", info.bytes}};
  for (const Field& field : info.fields) {
    json["fields"].push_back(
        {{"name", field.name}, {"dtype", name_of(field.dtype)}, {"shape", hocket::to_string(field.shape)}});
  }
  json["histogram"] = description.histogram;
  json["mean"] = description.mean;
  json["deviation"] = description.deviation;
  return json;
}

int describe_data(const DataParts& parts, const Arguments& arguments) {
  OrderedJson json;
  std::string text;
  for (const NamedPart& part : named_parts(parts)) {
    const DataDescription description = describe(part.data);
    json[part.name] = to_json(description);
    text += part.name + ":\n";
    for (const std::string& line : to_lines(description)) text += fmt::format("  {}\n", line);
  }
  write_output(arguments.has("json") ? json.dump(2) + '\n' : text);
  return kDone;
}

int check_data(const DataParts& parts, const Arguments& arguments) {
  OrderedJson json;
  std::int64_t samples = 0;
  json["faults"] = OrderedJson::array();
  for (const NamedPart& part : named_parts(parts)) {
    samples += part.data.info().size;
    for (const std::string& fault : check(part.data)) json["faults"].push_back(part.name + ": " + fault);
  }
  json["samples"] = samples;
  const bool is_good = json["faults"].empty();
  if (arguments.has("json")) {
    write_output(json.dump(2) + '\n');
  } else {
    for (const OrderedJson& fault : json["faults"]) write_output(fault.get<std::string>() + '\n');
    if (is_good) write_output(fmt::format("{} samples, all good\n", count_text(samples)));
  }
  return is_good ? kDone : kBadData;
}

int convert_data(const DataParts& parts, const Arguments& arguments) {
  if (!arguments.has("to") || !arguments.has("out")) {
    throw ConfigError("data convert: give --to {} and --out PATH", fmt::join(conversion_formats(), "|"));
  }
  OrderedJson json;
  json["files"] = OrderedJson::array();
  for (const auto& path : convert(parts, arguments.text("to"), arguments.text("out")))
    json["files"].push_back(path.string());
  if (arguments.has("json")) {
    write_output(json.dump(2) + '\n');
  } else {
    for (const OrderedJson& file : json["files"]) write_output(file.get<std::string>() + '\n');
  }
  return kDone;
}

int run_data(const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.words();
  if (words.empty()) return list_kinds(arguments);
  constexpr std::string_view kActions[] = {"describe", "check", "convert"};
  if (std::find(std::begin(kActions), std::end(kActions), words[0]) == std::end(kActions)) {
    const std::string hint = did_you_mean(words[0], kActions);
    throw ConfigError("data: unknown action {}{}", words[0],
                      hint.empty() ? "; expected describe, check or convert" : hint);
  }
  if (words.size() < 2) throw ConfigError("data {}: which data? hocket data lists the kinds", words[0]);
  const DataParts parts = open_dataset({words[1], arguments.text("test-data")});
  if (words[0] == "describe") return describe_data(parts, arguments);
  if (words[0] == "check") return check_data(parts, arguments);
  return convert_data(parts, arguments);
}

}  // namespace

Command data_command() {
  Command command;
  command.name = "data";
  command.summary = "list kinds of data; describe, check or convert a data set";
  command.usages = {"", "describe DATA", "check DATA", "convert DATA --to FORMAT --out PATH"};
  command.options = {
      {"test-data", "DATA", "a test part from elsewhere"},
      {"to", "FORMAT", fmt::format("what to convert to: {}", fmt::join(conversion_formats(), ", "))},
      {"out", "PATH", "where to"},
  };
  for (Option& option : output_options()) {
    if (option.flag != "quiet") command.options.push_back(std::move(option));
  }
  command.examples = {"hocket data describe fashion-mnist", "hocket data check libsvm:a9a",
                      "hocket data convert fashion-mnist --to image-folder --out clothes"};
  command.max_words = 2;
  command.run = run_data;
  return command;
}

}  // namespace hocket
