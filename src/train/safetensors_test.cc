#include "train/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/rng.h"

namespace hocket {
namespace {

using Metadata = std::map<std::string, std::string>;

std::string written(const std::vector<NamedTensor>& tensors, const Metadata& metadata = {}) {
  std::string file;
  write_safetensors(tensors, metadata, [&](std::span<const std::byte> bytes) {
    file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  return file;
}

Safetensors parsed(const std::string& file) {
  Arena block(file.size());
  if (!file.empty()) std::memcpy(block.data(), file.data(), file.size());
  return parse_safetensors(std::move(block), "model.safetensors");
}

std::string error_of(const std::string& file) {
  try {
    parsed(file);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

// A file with this header and so many bytes of tensors.
std::string with_header(const std::string& header, std::size_t buffer_bytes = 0) {
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file + header + std::string(buffer_bytes, '\0');
}

std::vector<NamedTensor> one_of_each_dtype() {
  std::vector<NamedTensor> tensors;
  for (const char* name : {"u8", "f32", "bf16", "i64", "f64", "f16", "i32"}) {
    Tensor tensor(find_dtype(name).value(), {3, 5});
    Rng rng{tensors.size()};
    for (std::byte& byte : tensor.bytes()) byte = static_cast<std::byte>(rng.below(256));
    tensors.emplace_back(std::string("layer/") + name, tensor);
  }
  tensors.emplace_back("scalar", Tensor::of<float>({}, {42}));
  tensors.emplace_back("empty", Tensor(DType::f32, {4, 0}));
  return tensors;
}

TEST(Safetensors, EveryDtypeReadsBackAsWritten) {
  const std::vector<NamedTensor> tensors = one_of_each_dtype();
  const Metadata metadata{{"format", "hocket"}, {"quote", "\"\\\n"}};
  const Safetensors read = parsed(written(tensors, metadata));
  EXPECT_EQ(read.metadata, metadata);
  ASSERT_EQ(read.tensors.size(), tensors.size());
  const std::map<std::string, Tensor> by_name(read.tensors.begin(), read.tensors.end());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& other = by_name.at(name);
    EXPECT_EQ(other.dtype(), tensor.dtype());
    EXPECT_EQ(other.shape(), tensor.shape());
    EXPECT_TRUE(std::ranges::equal(other.bytes(), tensor.bytes())) << name;
  }
}

TEST(Safetensors, AFileOfNothingIsLegal) { EXPECT_TRUE(parsed(written({})).tensors.empty()); }

TEST(Safetensors, TensorsOutliveTheirFile) {
  Tensor tensor;
  { tensor = parsed(written({{"w", Tensor::of<float>({2}, {1, 2})}})).tensors.at(0).second; }
  EXPECT_EQ(tensor.values<float>()[1], 2);
}

TEST(Safetensors, AMisalignedTensorOfAnotherWriterIsReadToo) {
  std::string file = with_header(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
      5);
  const float value = 3.5F;
  std::memcpy(file.data() + file.size() - sizeof value, &value, sizeof value);
  const Safetensors read = parsed(file);
  EXPECT_EQ(read.tensors.at(1).second.values<float>()[0], value);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read.tensors.at(1).second.bytes().data()) % sizeof(float), 0U);
}

TEST(Safetensors, AWrongHeaderIsNamed) {
  const auto tensor = [](const std::string& fields, std::size_t buffer_bytes = 4) {
    return error_of(with_header("{\"w\":{" + fields + "}}", buffer_bytes));
  };
  const auto expect_error = [](const std::string& error, const std::string& part) {
    EXPECT_TRUE(error.starts_with("model.safetensors: ")) << error;
    EXPECT_NE(error.find(part), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_LT(error.size(), 400U);
  };
  expect_error(error_of(""), "has 0 bytes");
  expect_error(error_of("1234567"), "has 7 bytes");
  expect_error(error_of(std::string(8, '\xff')), "claims 18446744073709551615 bytes");
  expect_error(error_of(with_header("{}").substr(0, 9)), "claims 2 bytes; at most 1 are there");
  expect_error(error_of(with_header("")), "is not the '{'");
  expect_error(error_of(with_header("[]")), "is not the '{'");
  expect_error(error_of(with_header("\xef\xbb\xbf{}")), "is not the '{'");
  expect_error(error_of(with_header("{\"w\":")), "not JSON at byte");
  expect_error(error_of(with_header("{} {}")), "not JSON at byte 11");
  expect_error(error_of(with_header("{\"w\":3}")), "\"w\" is a number; expected an object");
  expect_error(error_of(with_header("{\"w\":null}")), "\"w\" is null");
  expect_error(error_of(with_header("{\"w\":{}}")), "has no dtype");
  expect_error(error_of(with_header("{\"__metadata__\":[]}")), "expected an object of strings");
  expect_error(error_of(with_header("{\"__metadata__\":{\"a\":1}}")),
               "a number as a value; expected a string");
  expect_error(error_of(with_header(R"({"__metadata__":{"a":"","a":""}})")), "the key \"a\" twice");
  expect_error(error_of(with_header(R"({"__metadata__":{},"__metadata__":{}})")), "\"__metadata__\" twice");
  expect_error(tensor(R"("dtype":"F32")"), "has no shape");
  expect_error(tensor(R"("dtype":"F32","shape":[1])"), "has no data_offsets");
  expect_error(tensor(R"("dtype":"F32","dtype":"F32")"), "the key \"dtype\" twice");
  expect_error(tensor(R"("shape":[1],"shape":[1])"), "the key \"shape\" twice");
  expect_error(tensor(R"("strides":[1])"), "the unknown key \"strides\"");
  expect_error(tensor(R"("dtype":"Q4")"), "has dtype \"Q4\"; expected F32");
  expect_error(tensor(R"("dtype":7)"), "a number as dtype");
  expect_error(tensor(R"("shape":[-1])"), "a negative number in its shape");
  expect_error(tensor(R"("shape":[1.0])"), "a fraction in its shape");
  expect_error(tensor(R"("shape":[[1]])"), "an array in its shape");
  expect_error(tensor(R"("shape":[1,1,1,1,1,1,1])"), "more than 6 dimensions");
  expect_error(tensor(R"("shape":[9223372036854775808])"), "a dimension of 9223372036854775808");
  expect_error(tensor(R"("data_offsets":[0])"), "has 1 data_offsets");
  expect_error(tensor(R"("data_offsets":[0,1,2])"), "more than two");
  expect_error(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"),
               "ends at 0, before it begins at 4");
  expect_error(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), "needs 8 bytes");
  expect_error(tensor(R"("dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,4])"), "too large");
  expect_error(tensor(R"("dtype":"U8","shape":[4611686018427387904,4,0],"data_offsets":[0,0])"), "too large");
  expect_error(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", 3),
               "need 4 bytes after the header");
  expect_error(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", 5), "but the file has 5");
  expect_error(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])", 8), "leaves a hole from byte 0");
  const std::string two = R"("dtype":"F32","shape":[2],"data_offsets":)";
  expect_error(error_of(with_header("{\"a\":{" + two + "[0,8]},\"b\":{" + two + "[4,12]}}", 12)),
               "is used up to byte 8");
  expect_error(error_of(with_header("{\"a\":{" + two + "[0,8]},\"a\":{" + two + "[8,16]}}", 16)),
               "\"a\" twice");
}

TEST(Safetensors, AHostileNameStaysShortAndOnOneLineInTheError) {
  const std::string error = error_of(with_header("{\"\\n\\u001b" + std::string(100'000, 'x') + "\":1}"));
  EXPECT_LT(error.size(), 200U);
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
}

TEST(Safetensors, DeepNestingIsRefusedAtItsFirstLevel) {
  EXPECT_NE(error_of(with_header("{\"w\":{\"shape\":" + std::string(1'000'000, '['))), "no error");
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string file = written(one_of_each_dtype(), {{"a", "b"}});
  for (std::size_t size = 0; size < file.size(); ++size)
    ASSERT_NE(error_of(file.substr(0, size)), "no error") << size;
  EXPECT_EQ(error_of(file), "no error");
}

RC_GTEST_PROP(Safetensors, DamageIsRefusedOrHarmless, ()) {
  std::string file = written(one_of_each_dtype(), {{"a", "b"}});
  const auto count = *rc::gen::inRange(1, 8);
  for (int i = 0; i < count; ++i) {
    file[*rc::gen::inRange<std::size_t>(0, 900)] = *rc::gen::arbitrary<char>();
  }
  error_of(file);  // Anything but a crash or another exception.
}

TEST(Safetensors, NamesThatNoReaderTakesAreNotWritten) {
  const Tensor tensor(DType::f32, {1});
  EXPECT_THROW(written({{"w", tensor}, {"w", tensor}}), Error);
  EXPECT_THROW(written({{"__metadata__", tensor}}), Error);
  EXPECT_THROW(written({{"\xff", tensor}}), Error);
}

// A second reader, of another hand and in another language, agrees with what is written.
TEST(Safetensors, AnIndependentReaderAgrees) {
  if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "python3 is missing";
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "independent.safetensors";
  std::ofstream(path, std::ios::binary) << written(
      {{"a", Tensor::of<std::uint8_t>({3}, {1, 2, 3})}, {"b", Tensor::of<float>({2, 2}, {1.5F, -2, 0, 8})}},
      {{"by", "hocket"}});
  constexpr const char* kReader = R"(
import json, struct, sys
data = open(sys.argv[1], "rb").read()
(length,) = struct.unpack("<Q", data[:8])
header = json.loads(data[8:8 + length])
body = data[8 + length:]
assert (8 + length) % 8 == 0
assert header.pop("__metadata__") == {"by": "hocket"}
def values(name, code):
    begin, end = header[name]["data_offsets"]
    return [v for (v,) in struct.iter_unpack(code, body[begin:end])]
assert header["a"]["dtype"] == "U8" and header["a"]["shape"] == [3] and values("a", "<B") == [1, 2, 3]
assert header["b"]["dtype"] == "F32" and header["b"]["shape"] == [2, 2] and values("b", "<f") == [1.5, -2, 0, 8]
assert len(body) == 19 and set(header) == {"a", "b"}
)";
  const std::string command = std::string("python3 -c '") + kReader + "' '" + path.string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hocket
