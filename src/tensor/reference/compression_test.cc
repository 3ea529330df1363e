#include "tensor/reference/compression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/rng.h"
#include "tensor/arena.h"
#include "tensor/reference/run_kernel.h"

namespace hocket::reference {
namespace {

CompressionSpec spec_of(CompressionKind kind, std::int64_t count, std::int64_t kept = 0) {
  return {.kind = kind, .count = count, .kept = kept, .dtype = DType::f64};
}

// One rank's end, and what the others make of it.
struct Channel {
  explicit Channel(const CompressionSpec& compression)
      : spec(compression),
        residual(DType::f64, {spec.count}),
        payload(DType::u8, {spec.payload_bytes()}),
        scratch(make_encode(spec)->scratch_bytes() + 1) {
    for (double& x : residual.values<double>()) x = 0;
  }

  std::vector<double> send(const std::vector<double>& vector) {
    Tensor x(DType::f64, {spec.count}), y(DType::f64, {spec.count});
    std::copy(vector.begin(), vector.end(), x.values<double>().begin());
    std::byte* in[] = {x.bytes().data(), residual.bytes().data()};
    std::byte* out[] = {payload.bytes().data()};
    make_encode(spec)->run(in, out, scratch.data());
    run_kernel(*make_decode(spec), {payload}, {y});
    return elements<double>(y);
  }

  CompressionSpec spec;
  Tensor residual, payload;
  Arena scratch;
};

TEST(Encode, SendsBf16RoundedToEven) {
  Channel channel(spec_of(CompressionKind::bf16, 3));
  EXPECT_EQ(channel.send({1.0, 1 + 1.0 / 256, 1 + 3.0 / 256}), (std::vector<double>{1, 1, 1 + 4.0 / 256}));
  EXPECT_EQ(elements<double>(channel.residual), (std::vector<double>{0, 1.0 / 256, -1.0 / 256}));
}

TEST(Encode, SendsMultiplesOfABlocksScale) {
  Channel channel(spec_of(CompressionKind::int8, 1026));
  std::vector<double> x(1026, 0.0);
  x[0] = -254;  // So the first block's scale is 2, and the second's 0.5.
  x[1] = 3;     // 1.5 scales: to the even 2.
  x[2] = 5;     // 2.5 scales: to the even 2.
  x[1025] = 63.5;
  const std::vector<double> y = channel.send(x);
  EXPECT_EQ(y[0], -254);
  EXPECT_EQ(y[1], 4);
  EXPECT_EQ(y[2], 4);
  EXPECT_EQ(y[1025], 63.5);
  EXPECT_EQ(channel.residual.values<double>()[2], 1);
}

TEST(Encode, SendsTheLargestAndOfEqualsTheFirst) {
  Channel channel(spec_of(CompressionKind::topk, 6, 3));
  EXPECT_EQ(channel.send({1, -5, 2, 2, -2, 0.5}), (std::vector<double>{0, -5, 2, 2, 0, 0}));
  EXPECT_EQ(elements<double>(channel.residual), (std::vector<double>{1, 0, 0, 0, -2, 0.5}));
  // What was left out has its turn.
  EXPECT_EQ(channel.send({1, 0, 0, 0, -2, 0.5}), (std::vector<double>{2, 0, 0, 0, -4, 1}));
}

// After any number of steps, what has arrived is what was to be sent, but for the residual.
TEST(Encode, FeedsErrorsBack) {
  constexpr std::int64_t kCount = 2500;
  for (const CompressionKind kind : {CompressionKind::bf16, CompressionKind::int8, CompressionKind::topk}) {
    Channel channel(spec_of(kind, kCount, 25));
    Rng rng{7};
    std::vector<double> sent(kCount, 0.0), arrived(kCount, 0.0);
    double largest = 0;  // Residual.
    for (int step = 0; step < 400; ++step) {
      std::vector<double> x(kCount);
      for (double& value : x) value = 1 + 0.1 * rng.normal();
      const std::vector<double> y = channel.send(x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        sent[i] += x[i];
        arrived[i] += y[i];
      }
    }
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const double residual = channel.residual.values<double>()[i];
      EXPECT_NEAR(arrived[i] + residual, sent[i], 1e-9);
      largest = std::max(largest, std::fabs(residual));
    }
    // topk serves each element once in 100 steps; the others are off by one rounding.
    EXPECT_LT(largest, kind == CompressionKind::topk ? 130 : 0.01);
  }
}

TEST(Encode, LetsReceiversSeeWhatIsNotFinite) {
  for (const CompressionKind kind : {CompressionKind::bf16, CompressionKind::int8, CompressionKind::topk}) {
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      Channel channel(spec_of(kind, 4, 1));
      EXPECT_FALSE(std::isfinite(channel.send({1, 2, bad, 3})[2]));
    }
  }
}

TEST(Decode, AddsRanksInTheirOrder) {
  CompressionSpec spec = spec_of(CompressionKind::topk, 3, 1);
  spec.ranks = 3;
  Tensor payloads(DType::u8, {24}), y(DType::f64, {3});
  const struct {
    std::int32_t index;
    float value;
  } pairs[] = {{1, 0.5F}, {0, 2}, {1, 0.25F}};
  std::memcpy(payloads.bytes().data(), pairs, sizeof pairs);
  run_kernel(*make_decode(spec), {payloads}, {y});
  EXPECT_EQ(elements<double>(y), (std::vector<double>{2, 0.75, 0}));
}

TEST(Decode, RefusesAnIndexOutsideTheVector) {
  for (const std::int32_t index : {-1, 3}) {
    Tensor payload(DType::u8, {8}), y(DType::f64, {3});
    std::memset(payload.bytes().data(), 0, 8);
    std::memcpy(payload.bytes().data(), &index, sizeof index);
    const auto kernel = make_decode(spec_of(CompressionKind::topk, 3, 1));
    EXPECT_THROW(run_kernel(*kernel, {payload}, {y}), Error);
  }
}

}  // namespace
}  // namespace hocket::reference
