#include "data/cifar.h"

#include <gtest/gtest.h>

#include "data/open.h"
#include "data/test_files.h"

namespace hocket {
namespace {

std::string record(char label, char pixel) { return std::string(1, label) + std::string(3072, pixel); }

std::string cifar_message(const std::string& bytes) {
  std::vector<std::int32_t> labels;
  std::vector<std::uint8_t> pixels;
  return message_of<DataError>([&] { parse_cifar("x", std::as_bytes(std::span(bytes)), labels, pixels); });
}

TEST(Cifar, ReadsTheBatchesThatAreThere) {
  const TestFolder folder;
  folder.write("data_batch_1.bin", record(1, 'a') + record(2, 'b'));
  folder.write("data_batch_3.bin", record(3, 'c'));
  folder.write("test_batch.bin", record(9, 'd'));
  const DataParts parts = open_dataset({"cifar10:" + folder.path().string(), ""});
  EXPECT_EQ(parts.train->info().size, 3);
  EXPECT_EQ(parts.train->info().fields[0].shape, (Shape{3, 32, 32}));
  const Batch batch = make_batch(parts.test->info(), 1);
  const std::int64_t index = 0;
  parts.test->gather({&index, 1}, 0, batch.fields);
  EXPECT_EQ(batch.fields[1].values<std::int32_t>()[0], 9);
  EXPECT_NEAR(batch.fields[0].values<float>()[0], (100 / 255.0 - 0.4914) / 0.2470, 1e-5);
  EXPECT_NEAR(batch.fields[0].values<float>()[3071], (100 / 255.0 - 0.4465) / 0.2616, 1e-5);
}

TEST(Cifar, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(cifar_message(record(1, 'a').substr(1)),
            "x: expected records of 3073 bytes, found 3072 bytes: 0 and 3072 over");
  EXPECT_EQ(cifar_message(""), "x: expected records of 3073 bytes, found 0 bytes: 0 and 0 over");
  EXPECT_EQ(cifar_message(record(1, 'a') + record(10, 'b')),
            "x: byte 3073: expected a label from 0 to 9, found 10");
  const TestFolder folder;
  EXPECT_THROW(open_dataset({"cifar10:" + folder.path().string(), ""}), DataError);
}

}  // namespace
}  // namespace hocket
