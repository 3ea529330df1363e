#include "data/convert.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/describe.h"
#include "data/open.h"
#include "data/test_files.h"

namespace hocket {
namespace {

Batch whole(const Dataset& data) {
  Batch batch = make_batch(data.info(), data.info().size);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(data.info().size));
  std::iota(indices.begin(), indices.end(), 0);
  data.gather(indices, 0, batch.fields);
  return batch;
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  for (std::size_t i = 0; i < a.values<float>().size(); ++i)
    EXPECT_NEAR(a.values<float>()[i], b.values<float>()[i], tolerance);
}

// The pixels of a set as numbers in [0, 1].
Tensor raw_pixels(const Dataset& data) {
  const Tensor images = whole(data).fields[0];
  const auto plane = static_cast<std::size_t>(images.shape().count(2, 4));
  const std::size_t channels = data.info().mean.size();
  for (std::size_t i = 0; i < images.values<float>().size(); ++i) {
    float& pixel = images.values<float>()[i];
    pixel = pixel * data.info().deviation[i / plane % channels] + data.info().mean[i / plane % channels];
  }
  return images;
}

TEST(Convert, ImagesComeBackFromIdxAndPng) {
  const TestFolder folder;
  const DataParts made = open_dataset({"synthetic:3x6x5:4:30", ""});
  convert(made, "idx", folder.file("first"));
  const DataParts idx =
      open_dataset({"mnist:" + folder.file("first"), ""});  // Rounded to bytes from here on.
  expect_near(raw_pixels(*made.train), raw_pixels(*idx.train), 0.003);
  EXPECT_EQ(idx.test->info().size, 6);

  convert(idx, "idx", folder.file("second"));
  const DataParts again = open_dataset({"mnist:" + folder.file("second"), ""});
  expect_near(raw_pixels(*idx.train), raw_pixels(*again.train), 1e-6);

  convert(idx, "image-folder", folder.file("pngs"));
  const DataParts pngs = open_dataset({"image-folder:" + folder.file("pngs"), ""});
  EXPECT_EQ(pngs.train->info().size, 30);
  EXPECT_EQ(pngs.train->info().fields[0].shape, (Shape{3, 6, 5}));
  EXPECT_NEAR(pngs.train->info().mean[0], idx.train->info().mean[0], 1e-5);
}

TEST(Convert, SparseRowsComeBackFromLibsvm) {
  const TestFolder folder;
  const DataParts made = open_dataset({"synthetic:sparse,samples=50,features=100", ""});
  const auto files = convert(made, "libsvm", folder.file("rows"));
  ASSERT_EQ(files.size(), 2U);
  const DataParts back =
      open_dataset({"libsvm:" + files[0].string() + ",features=100", "libsvm:" + files[1].string()});
  const Batch a = whole(*made.train);
  const Batch b = whole(*back.train);
  EXPECT_TRUE(std::ranges::equal(a.fields[2].values<std::int32_t>(), b.fields[2].values<std::int32_t>()));
  EXPECT_TRUE(std::ranges::equal(a.fields[3].values<float>(), b.fields[3].values<float>()));
  const auto used = static_cast<std::size_t>(a.fields[2].values<std::int32_t>()[50]);
  EXPECT_TRUE(std::ranges::equal(a.fields[1].values<std::int32_t>().first(used),
                                 b.fields[1].values<std::int32_t>().first(used)));
}

TEST(Convert, CsvBecomesTheSameSparseRowsAsItsSparseLayout) {
  const TestFolder folder;
  const std::string csv = folder.write("t.csv", "a,b,c,y\n1,red,left,0\n2,blue,right,1\n4,red,right,1\n");
  convert(open_dataset({"csv:" + csv + ",buckets=4", ""}), "libsvm", folder.file("rows"));
  const DataParts back = open_dataset({"libsvm:" + folder.file("rows") + ",features=5", ""});
  const DataParts direct = open_dataset({"csv:" + csv + ",buckets=4,layout=sparse", ""});
  const Batch a = whole(*back.train);
  const Batch b = whole(*direct.train);
  for (std::size_t i = 0; i < a.fields.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(a.fields[i].bytes(), b.fields[i].bytes())) << i;
  }
}

TEST(Convert, RefusesWhatDoesNotFit) {
  const TestFolder folder;
  const DataParts images = open_dataset({"synthetic:1x2x2:3:5", ""});
  const DataParts rows = open_dataset({"synthetic:sparse,samples=5", ""});
  EXPECT_THROW(convert(images, "libsvm", folder.file("x")), ConfigError);
  EXPECT_THROW(convert(rows, "idx", folder.file("y")), ConfigError);
  EXPECT_EQ(message_of<ConfigError>([&] { convert(rows, "libsvn", folder.file("x")); }),
            "unknown format 'libsvn'; expected idx, image-folder, libsvm; did you mean libsvm?");
  EXPECT_FALSE(std::filesystem::exists(folder.file("x")));
}

TEST(Describe, SumsUpWhatTheSetHolds) {
  const DataParts parts = open_dataset({"synthetic:1x4x4:3:200", ""});
  const DataDescription description = describe(*parts.train);
  EXPECT_EQ(description.samples, 200);
  EXPECT_EQ(std::accumulate(description.histogram.begin(), description.histogram.end(), std::int64_t{0}),
            200);
  const auto lines = to_lines(description);
  EXPECT_NE(lines[0].find("synthetic:1x4x4:3:200: classification, 200 samples"), std::string::npos);
  EXPECT_EQ(lines[1], "  image f32[1,4,4]");
  EXPECT_EQ(describe(*parts.train, 10).samples, 10);
}

TEST(Describe, KnowsEveryTask) {
  const TestFolder folder;
  const std::string regression = "csv:" + folder.write("r.csv", "1,0.5\n2,1.5\n3,7\n");
  const auto lines = to_lines(describe(*open_dataset({regression, ""}).train));
  EXPECT_EQ(lines.back(), "  label: mean 3.0000, from 0.5000 to 7.0000");
  EXPECT_EQ(to_lines(describe(*open_dataset({"synthetic:text,samples=50", ""}).train)).back(),
            "  26 of 256 symbols occur");
  EXPECT_EQ(to_lines(describe(*open_dataset({"synthetic:sparse,samples=50", ""}).train))[5],
            "  10000 columns");
}

}  // namespace
}  // namespace hocket
