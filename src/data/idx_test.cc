#include "data/idx.h"

#include <gtest/gtest.h>

#include "data/test_files.h"

namespace hocket {
namespace {

std::string idx_message(std::string_view bytes) {
  return message_of<DataError>([&] { parse_idx("x", std::as_bytes(std::span(bytes.data(), bytes.size()))); });
}

using std::string_literals::operator""s;

TEST(Idx, ReadsShapeAndElements) {
  const std::string bytes = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"s + "abcdef";
  const IdxArray array = parse_idx("x", std::as_bytes(std::span(bytes)));
  EXPECT_EQ(array.dtype, DType::u8);
  EXPECT_EQ(array.shape, (Shape{2, 3}));
  EXPECT_EQ(array.elements.size(), 6U);
  EXPECT_EQ(static_cast<char>(array.elements[5]), 'f');
}

TEST(Idx, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(idx_message("\0\0"s), "x: byte 0: expected the 4 bytes of an IDX header, found 2");
  EXPECT_EQ(idx_message("PK\x03\x04"s), "x: byte 0: expected the IDX magic 0x0000, found 0x504b");
  EXPECT_EQ(idx_message("\0\0\x0b\x01"s), "x: byte 2: expected IDX type 0x08 (u8) or 0x0d (f32), found 0x0b");
  EXPECT_EQ(idx_message("\0\0\x08\0"s), "x: byte 3: expected 1 to 4 dimensions, found 0");
  EXPECT_EQ(idx_message("\0\0\x08\x02\0\0"s), "x: byte 6: expected 2 dimensions, found the end of the file");
  EXPECT_EQ(idx_message("\0\0\x08\x01\0\0\0\x05"s + "abc"), "x: byte 8: expected 5 bytes of u8 [5], found 3");
  EXPECT_EQ(idx_message("\0\0\x08\x01\0\0\0\x01"s + "abc"), "x: byte 8: expected 1 bytes of u8 [1], found 3");
}

TEST(Idx, RefusesDimensionsThatOverflow) {
  const std::string huge = "\xff\xff\xff\xff"s;
  EXPECT_EQ(idx_message("\0\0\x08\x03"s + huge + huge + huge),
            "x: byte 8: dimension 1 of 4294967295 makes the array too large");
  EXPECT_EQ(idx_message("\0\0\x08\x01"s + huge),
            "x: byte 8: expected 4294967295 bytes of u8 [4294967295], found 0");
}

}  // namespace
}  // namespace hocket
