#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "cli/help.h"

namespace hocket {
namespace {

Command example() {
  Command command;
  command.name = "train";
  command.summary = "train a model";
  command.usages = {"[options]"};
  command.options = {{"model", "MODEL", "the model"},
                     {"lr", "RATE", "learning rate", "each step"},
                     {"set", "KEY=VALUE", "set a key"},
                     {"resume", "DIR", "go on", "options", Option::Takes::optional_value},
                     {"json", "", "as JSON"}};
  command.max_words = 1;
  return command;
}

Arguments parse(const std::vector<std::string>& typed) { return parse_arguments(example(), typed); }

std::string refusal(const std::vector<std::string>& typed) {
  try {
    parse(typed);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(CommandLine, ReadsOptionsAndWords) {
  const Arguments arguments = parse({"word", "--model", "mlp,hidden=[3]", "--lr=-0.5", "--json"});
  EXPECT_EQ(arguments.words(), std::vector<std::string>{"word"});
  EXPECT_EQ(arguments.text("model"), "mlp,hidden=[3]");
  EXPECT_EQ(arguments.text("lr"), "-0.5");
  EXPECT_TRUE(arguments.has("json"));
  EXPECT_FALSE(arguments.has("set"));
}

TEST(CommandLine, RepeatedOptionsKeepAllValuesAndTheLastCounts) {
  const Arguments arguments = parse({"--set", "a=1", "--set", "b=2", "--lr", "1", "--lr", "-2"});
  EXPECT_EQ(arguments.all("set"), (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_EQ(arguments.text("lr"), "-2");
}

TEST(CommandLine, OptionalValueMayBeMissing) {
  EXPECT_TRUE(parse({"--resume"}).has("resume"));
  EXPECT_EQ(parse({"--resume", "--json"}).text("resume"), "");
  EXPECT_EQ(parse({"--resume", "runs/a"}).text("resume"), "runs/a");
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(refusal({"--modle", "x"}), "train: unknown option --modle; did you mean --model?");
  EXPECT_EQ(refusal({"--modle=x"}), "train: unknown option --modle; did you mean --model?");
  EXPECT_EQ(refusal({"a", "b"}), "train: unexpected 'b'; hocket train --help shows the usage");
  EXPECT_EQ(refusal({"-x"}), "train: unknown option -x; hocket train --help lists the options");
}

TEST(CommandLine, RefusesAMissingValue) {
  EXPECT_EQ(refusal({"--lr"}), "train: --lr needs a value");
  EXPECT_EQ(refusal({"--model", "--json"}), "train: --model needs a value, found --json");
}

TEST(CommandLine, HelpWinsOverEverythingElse) { EXPECT_TRUE(parse({"--modle", "-h"}).has("help")); }

TEST(Help, ListsEveryOptionUnderItsGroup) {
  const std::string help = command_help(example());
  for (const Option& option : example().options) EXPECT_NE(help.find("--" + option.flag), std::string::npos);
  EXPECT_NE(help.find("\neach step:\n  --lr RATE"), std::string::npos);
  EXPECT_NE(help.find("--resume [DIR]"), std::string::npos);
}

TEST(CommandLine, WhatFollowsTwoDashesBelongsToTheProgram) {
  Command command = example();
  command.options[0].letter = 'm';
  command.takes_program = true;
  const std::vector<std::string> typed{"-m",     "mlp", "--json", "--",     "program",
                                       "--help", "-x",  "--",     "--model"};
  const Arguments arguments = parse_arguments(command, typed);
  EXPECT_EQ(arguments.text("model"), "mlp");
  EXPECT_FALSE(arguments.has("help"));
  EXPECT_EQ(arguments.words(), (std::vector<std::string>{"program", "--help", "-x", "--", "--model"}));
}

}  // namespace
}  // namespace hocket
