#include "train/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace hocket {
namespace {

std::vector<NamedTensor> two_parameters() {
  return {{"weight", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
          {"bias", Tensor::of<float>({2}, {7, 8})}};
}

TEST(Hasher, GivesThePublishedDigestOfNothing) {
  EXPECT_EQ(hash_bytes({}), "99aa06d3014798d86001c324468d497f");
}

TEST(Hasher, PiecesGiveTheDigestOfTheWhole) {
  const std::string text(10000, 'x');
  const auto bytes = std::as_bytes(std::span(text));
  Hasher hasher;
  for (std::size_t at = 0; at < bytes.size(); at += 777) {
    hasher.update(bytes.subspan(at, std::min<std::size_t>(777, bytes.size() - at)));
  }
  EXPECT_EQ(hasher.digest(), hash_bytes(bytes));
}

TEST(ParameterHash, DoesNotDependOnTheOrderOfTheList) {
  std::vector<NamedTensor> parameters = two_parameters();
  const std::string hash = parameter_hash(parameters);
  std::swap(parameters[0], parameters[1]);
  EXPECT_EQ(parameter_hash(parameters), hash);
  EXPECT_EQ(hash.size(), 32U);
}

TEST(ParameterHash, ChangesWithNameShapeDtypeAndEveryValue) {
  std::set<std::string> hashes{parameter_hash(two_parameters())};
  const auto expect_new = [&](const std::vector<NamedTensor>& parameters) {
    EXPECT_TRUE(hashes.insert(parameter_hash(parameters)).second);
  };
  for (std::size_t i = 0; i < 6; ++i) {
    auto parameters = two_parameters();
    parameters[0].second.values<float>()[i] += 0.5F;
    expect_new(parameters);
  }
  auto renamed = two_parameters();
  renamed[1].first = "bia";
  expect_new(renamed);
  auto reshaped = two_parameters();
  reshaped[0].second = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_new(reshaped);
  auto other_type = two_parameters();
  const Tensor& bias = other_type[1].second;
  other_type[1].second = Tensor(DType::i32, bias.shape(), bias.bytes().data(), nullptr);
  expect_new({other_type[0], {"bias", Tensor(DType::i32, {2})}});
  auto fewer = two_parameters();
  fewer.pop_back();
  expect_new(fewer);
}

}  // namespace
}  // namespace hocket
