#include "train/model_ranges.h"

#include <gtest/gtest.h>

#include "nn/model.h"
#include "tensor/arena.h"

namespace hocket {
namespace {

StepLayouts layouts_of(const std::string& model, std::int64_t features) {
  SampleSpec sample;
  sample.fields = {{"category", DType::i32, {4}}, {"numeric", DType::f32, {3}}};
  sample.target = Target::binary;
  sample.classes = 2;
  sample.features = features;
  return StepLayouts(*build_model(parse_model(model), sample, 8, DType::f32));
}

OptimizerSpec with_decay() {
  OptimizerSpec optimizer;
  optimizer.rule = "sgd";
  optimizer.weight_decay = 0.5;
  return optimizer;
}

TEST(ModelRanges, CoverEveryDenseParameterOnce) {
  const StepLayouts layouts = layouts_of("deepfm", 100);
  for (const int servers : {1, 2, 3, 7}) {
    std::vector<int> covered(layouts.parameters.bytes());
    for (const ModelRange& range : model_ranges(layouts, {}, with_decay(), servers)) {
      std::size_t at = 0;
      for (const RangePiece& piece : range.pieces) {
        EXPECT_EQ(piece.at, at);
        at += piece.bytes;
        for (std::size_t i = 0; i < piece.bytes; ++i) ++covered[piece.offset + i];
      }
      EXPECT_EQ(at, range.bytes);
      EXPECT_LE(range.bytes, layouts.parameters.bytes() / static_cast<std::size_t>(servers) + 2 * kAlignment);
    }
    for (const ArenaLayout::Entry& entry : layouts.parameters.entries()) {
      for (std::size_t i = 0; i < entry.bytes(); ++i) EXPECT_EQ(covered[entry.offset + i], 1) << entry.name;
    }
  }
}

TEST(ModelRanges, SegmentsDecayWeightsAlone) {
  const StepLayouts layouts = layouts_of("deepfm", 100);
  std::int64_t decayed = 0, elements = 0;
  for (const ModelRange& range : model_ranges(layouts, {}, with_decay(), 2)) {
    std::int64_t next = 0;
    for (const Segment& segment : range.spec.segments) {
      EXPECT_EQ(segment.begin, next);
      next += segment.count;
      if (segment.decay > 0) decayed += segment.count;
    }
    elements += next;
    EXPECT_EQ(static_cast<std::size_t>(next) * sizeof(float), range.bytes);
  }
  std::int64_t weights = 0;
  for (const ArenaLayout::Entry& entry : layouts.parameters.entries()) {
    if (entry.type.shape.rank() >= 2)
      weights += static_cast<std::int64_t>(align_up(entry.bytes()) / sizeof(float));
  }
  EXPECT_EQ(decayed, weights);
  EXPECT_EQ(static_cast<std::size_t>(elements) * sizeof(float), layouts.parameters.bytes());
}

TEST(ModelRanges, AreTheSameWhateverTheSizeOfTables) {
  const std::vector<TableUse> tables{{"first.weight", 1}, {"second.weight", 8}};
  const StepLayouts small = layouts_of("deepfm", 10), large = layouts_of("deepfm", 1000);
  for (const TableUse& table : tables) small.parameters.at(table.parameter);
  const auto a = model_ranges(small, tables, with_decay(), 2),
             b = model_ranges(large, tables, with_decay(), 2);
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.size(), 2U + 4U);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_EQ(a[i].bytes, b[i].bytes);
    EXPECT_EQ(a[i].table, b[i].table);
    EXPECT_LT(a[i].id, range_count(2));
    EXPECT_EQ(a[i].is_table(), i >= 2);
  }
}

}  // namespace
}  // namespace hocket
