#include "collective/cost.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace hocket {
namespace {

constexpr double kTrueAlpha = 37e-6;
constexpr double kTrueBeta = 9e-10;

// Sizes from 8 bytes to 16 MiB, each `runs` times, with noise; every `spoilt`-th was disturbed.
std::vector<TransferSample> measured(int runs, double noise, int spoilt) {
  std::vector<TransferSample> samples;
  Rng rng{7};
  for (std::size_t bytes = 8; bytes <= 16u << 20; bytes *= 4) {
    for (int run = 0; run < runs; ++run) {
      double seconds = (kTrueAlpha + kTrueBeta * static_cast<double>(bytes)) * (1 + noise * rng.normal());
      if (spoilt > 0 && rng.below(static_cast<std::uint64_t>(spoilt)) == 0) seconds *= 6;
      samples.push_back({bytes, Seconds(seconds)});
    }
  }
  return samples;
}

TEST(FitLink, RecoversWhatMadeTheSamples) {
  const LinkFit fit = fit_link(measured(3, 0, 0));
  EXPECT_NEAR(fit.link.alpha.count(), kTrueAlpha, 1e-9 * kTrueAlpha);
  EXPECT_NEAR(fit.link.beta, kTrueBeta, 1e-9 * kTrueBeta);
  EXPECT_LT(fit.residual, 1e-9);
}

TEST(FitLink, BearsNoiseAndDisturbedSamples) {
  const LinkFit noisy = fit_link(measured(20, 0.05, 0));
  EXPECT_NEAR(noisy.link.alpha.count(), kTrueAlpha, 0.03 * kTrueAlpha);
  EXPECT_NEAR(noisy.link.beta, kTrueBeta, 0.03 * kTrueBeta);
  EXPECT_NEAR(noisy.residual, 0.034, 0.01);  // The median of |normal| is 0.67 deviations.
  const LinkFit disturbed = fit_link(measured(20, 0.05, 8));
  EXPECT_NEAR(disturbed.link.alpha.count(), kTrueAlpha, 0.08 * kTrueAlpha);
  EXPECT_NEAR(disturbed.link.beta, kTrueBeta, 0.08 * kTrueBeta);
}

TEST(FitLink, NeverGivesNegativeCosts) {
  const std::vector<TransferSample> falling{{1000, Seconds(3)}, {2000, Seconds(2)}};
  EXPECT_EQ(fit_link(falling).link.beta, 0);
  EXPECT_GT(fit_link(falling).link.alpha.count(), 2);
  const std::vector<TransferSample> steep{{1000, Seconds(1)}, {2000, Seconds(4)}};
  EXPECT_EQ(fit_link(steep).link.alpha.count(), 0);
  EXPECT_GT(fit_link(steep).link.beta, 0);
}

TEST(FitLink, OneSizeOnlyTellsAlphaAndNoSampleNothing) {
  const std::vector<TransferSample> one{{64, Seconds(2)}, {64, Seconds(2)}};
  EXPECT_DOUBLE_EQ(fit_link(one).link.alpha.count(), 2);
  EXPECT_EQ(fit_link(one).link.beta, 0);
  EXPECT_EQ(fit_link({}).link.alpha.count(), 0);
  const std::vector<TransferSample> broken{{64, Seconds(0)}};
  EXPECT_EQ(fit_link(broken).link.alpha.count(), 0);
}

TEST(Price, ARoundCostsTheLargerOfItsSendsAndItsReceives) {
  const Topology topology = uniform_topology(3, {{Seconds(1), 0.5}});
  const Schedule schedule{2, [](int i, Round& round) {
                            if (i == 0) round = {send(1, {0, 2}), send(2, {0, 4}), recv(1, {0, 3})};
                            if (i == 1) round = {recv(2, {0, 6}), copy(Buffer::scratch, 0, {0, 100})};
                          }};
  EXPECT_DOUBLE_EQ(price(schedule, 0, topology, 2).count(), (1 + 2) + (1 + 4) + (1 + 6));
}

}  // namespace
}  // namespace hocket
