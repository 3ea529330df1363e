#include "data/open.h"

#include <gtest/gtest.h>

#include "data/test_files.h"

namespace hocket {
namespace {

std::string config_message(const std::string& data, const std::string& test = "") {
  return message_of<ConfigError>([&] { open_dataset({data, test}); });
}

TEST(Source, SplitsKindLocationAndOptions) {
  const DataSource source = parse_source("csv:/a/b,c.csv,label=income,skip=2");
  EXPECT_EQ(source.kind, "csv");
  EXPECT_EQ(source.location, "/a/b,c.csv");
  EXPECT_EQ(source.option("label", ""), "income");
  EXPECT_EQ(source.integer("skip", 0, 0, 9), 2);
  EXPECT_EQ(source.integer("buckets", 7, 0, 9), 7);
  EXPECT_EQ(parse_source("synthetic:3x8x8:10:99").location, "3x8x8:10:99");
  EXPECT_EQ(parse_source("fashion-mnist").location, "");
}

TEST(Source, RefusesValuesThatDoNotFit) {
  const DataSource source = parse_source("text:x,context=12b,holdout=99,header=perhaps");
  EXPECT_THROW(source.integer("context", 1, 0, 100), ConfigError);
  EXPECT_THROW(source.integer("holdout", 1, 0, 90), ConfigError);
  EXPECT_THROW(source.flag("header", false), ConfigError);
  EXPECT_THROW(parse_source("text:x,context=1,context=2"), ConfigError);
}

TEST(OpenDataset, NamesTheNearestKnownWord) {
  EXPECT_EQ(config_message("fashion-mist"), "unknown data 'fashion-mist'; did you mean fashion-mnist?");
  EXPECT_EQ(config_message("text:x,contxt=3"),
            "data 'text:x,contxt=3': unknown option 'contxt'; did you mean context?");
  EXPECT_EQ(config_message("fashion-mnist,zoom=3"),
            "data 'fashion-mnist,zoom=3': unknown option 'zoom'; fashion-mnist has no options");
  EXPECT_NE(config_message("quatsch").find("expected one of fashion-mnist, mnist, "), std::string::npos);
  EXPECT_EQ(config_message("text"), "data 'text': expected text:FILE");
  EXPECT_EQ(config_message("fashion-mnist:x"),
            "data 'fashion-mnist:x': expected fashion-mnist alone, found ':x'");
}

TEST(OpenDataset, RefusesTestDataOfAnotherKind) {
  EXPECT_EQ(config_message("text:x", "libsvm:y"),
            "test data 'libsvm:y': expected text, like the training data");
  EXPECT_EQ(config_message("synthetic:mnist", "text:y"),
            "test data 'text:y': expected a kind like synthetic");
  EXPECT_NE(config_message("synthetic:mnist", "synthetic:cifar10").find("image f32[3,32,32]"),
            std::string::npos);
}

TEST(OpenDataset, TakesTestDataFromElsewhere) {
  const DataParts parts = open_dataset({"synthetic:mnist", "synthetic:mnist,samples=50"});
  EXPECT_EQ(parts.train->info().size, 60000);
  EXPECT_EQ(parts.test->info().size, 10);
}

TEST(OpenDataset, EveryKindIsListedAndReportsAMissingFile) {
  for (const DataKind& kind : data_kinds()) {
    EXPECT_FALSE(kind.what.empty());
    if (kind.name == "fashion-mnist" || kind.name == "synthetic") continue;
    const std::string text = std::string(kind.name) + ":/no/such/place";
    EXPECT_NE(message_of<DataError>([&] {
                open_dataset({text, ""});
              }).find("/no/such/place: "),
              std::string::npos)
        << text;
  }
}

TEST(OpenDataset, ReportsADirectoryWhereAFileIsExpected) {
  for (const char* kind : {"text:/tmp", "libsvm:/tmp", "csv:/tmp"}) {
    EXPECT_EQ(message_of<DataError>([&] {
                open_dataset({kind, ""});
              }),
              "/tmp: is a directory, expected a file");
  }
}

}  // namespace
}  // namespace hocket
