#include "tensor/kernels/winograd_conv.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tensor/kernels/oracle.h"
#include "tensor/reference/matrix.h"

namespace hocket::kernel {
namespace {

constexpr double kWinogradTolerance = 5e-5;    // Five times that of a plain sum.
constexpr double kWinogradDwTolerance = 5e-6;  // Of a product, of which there is one an output pixel.

void check_winograd(const ConvSpec& s) {
  const std::string name =
      fmt::format("n={} c={} {}x{} o={} padding {} pool {}", s.n, s.c, s.h, s.w, s.o, s.padding, s.pool);
  const Operand x = random_floats(s.n * s.c * s.h * s.w, 1), w = random_floats(s.o * s.c * 9, 2, -0.3, 0.3);
  const Operand dy = random_floats(s.n * s.o * (s.oh() / s.pool) * (s.ow() / s.pool), 3);
  std::vector<Operand> in = {x, w}, out = {Operand(DType::f32, dy.count())};
  std::vector<Operand> for_dx = {dy, w}, for_dw = {dy, x};
  if (s.pool > 1) {
    const Operand index = random_bytes(dy.count(), 5, s.pool * s.pool);
    out.push_back(index);
    for_dx.push_back(index);
    for_dw.push_back(index);
  }
  std::vector<Operand> gradients = {Operand(DType::f32, w.count())};
  if (s.has_bias) {
    in.push_back(random_floats(s.o, 4));
    gradients.push_back(Operand(DType::f32, s.o));
  }
  expect_same(make_winograd_conv2d(s), reference::make_conv2d(s), in, out, kWinogradTolerance, name);
  expect_same(make_winograd_conv2d_dx(s), reference::make_conv2d_dx(s), for_dx,
              {Operand(DType::f32, x.count())}, kWinogradTolerance, name + " dx");
  expect_same(make_winograd_conv2d_dw(s), reference::make_conv2d_dw(s), for_dw, gradients,
              kWinogradDwTolerance * std::sqrt(s.n * s.oh() * s.ow()), name + " dw");
}

ConvSpec spec(std::int64_t n, std::int64_t side, std::int64_t c, std::int64_t o, std::int64_t padding = 1) {
  return {.n = n,
          .c = c,
          .h = side,
          .w = side,
          .o = o,
          .kh = 3,
          .kw = 3,
          .padding = padding,
          .layout = Layout::channels_last};
}

TEST(WinogradConv, AgreesWithTheReferenceForAllNumbersOfChannels) {
  for (const std::int64_t c : {16, 32, 48}) {
    for (const std::int64_t o : {16, 48, 64}) check_winograd(spec(25, 8, c, o));
  }
}

TEST(WinogradConv, TilesMayHangOverTheBorder) {
  for (const std::int64_t padding : {0, 1, 2}) {
    for (const std::int64_t side : {6, 7, 9}) check_winograd(spec(97, side, 16, 16, padding));
  }
  ConvSpec oblong = spec(20, 5, 16, 32);
  oblong.w = 14;
  check_winograd(oblong);
}

TEST(WinogradConv, FusesBiasAndRelu) {
  ConvSpec s = spec(9, 14, 16, 32);
  s.has_bias = true;
  s.activation = Activation::relu;
  check_winograd(s);
}

// Images of fewer tiles than a block, of as many as two blocks, and some that leave a part of a block over.
TEST(WinogradConv, Pools) {
  for (const std::int64_t side : {8, 14, 24, 32}) {
    ConvSpec s = spec(26, side, 16, 32);
    s.has_bias = true;
    s.activation = Activation::relu;
    s.pool = 2;
    check_winograd(s);
  }
  ConvSpec thirds = spec(25, 14, 16, 16, 0);
  thirds.pool = 3;
  check_winograd(thirds);
}

TEST(WinogradConv, ThreadsDivideTheImagesOfAPool) {
  ConvSpec s = spec(9, 14, 16, 32);
  s.pool = 2;
  const Operand x = random_floats(s.n * s.c * s.h * s.w, 1), w = random_floats(s.o * s.c * 9, 2);
  const Operand dy = random_floats(s.n * s.o * 49, 3), index = random_bytes(dy.count(), 5, 4);
  expect_same(with_threads(2, make_winograd_conv2d(s)), make_winograd_conv2d(s), {x, w}, {dy, index}, 0, "y");
  expect_same(with_threads(2, make_winograd_conv2d_dx(s)), make_winograd_conv2d_dx(s), {dy, w, index}, {x}, 0,
              "dx");
  expect_same(with_threads(2, make_winograd_conv2d_dw(s)), make_winograd_conv2d_dw(s), {dy, x, index}, {w},
              kWinogradTolerance, "dw");
}

TEST(WinogradConv, ThreadsDivideTheTiles) {
  const ConvSpec s = spec(9, 14, 16, 32);
  const Operand x = random_floats(s.n * s.c * s.h * s.w, 1), w = random_floats(s.o * s.c * 9, 2);
  const Operand dy = random_floats(s.n * s.o * s.h * s.w, 3);
  expect_same(with_threads(2, make_winograd_conv2d(s)), make_winograd_conv2d(s), {x, w}, {dy}, 0, "y");
  expect_same(with_threads(2, make_winograd_conv2d_dx(s)), make_winograd_conv2d_dx(s), {dy, w}, {x}, 0, "dx");
  expect_same(with_threads(2, make_winograd_conv2d_dw(s)), make_winograd_conv2d_dw(s), {dy, x}, {w},
              kWinogradTolerance, "dw");
}

TEST(WinogradConv, LeavesOtherShapesAlone) {
  ConvSpec s = spec(9, 14, 16, 32);
  EXPECT_NE(make_winograd_conv2d(s), nullptr);
  for (const auto& change : std::vector<void (*)(ConvSpec&)>{
           [](ConvSpec& o) { o.stride = 2; }, [](ConvSpec& o) { o.kh = 5; },
           [](ConvSpec& o) { o.groups = 2; }, [](ConvSpec& o) { o.c = 17; },
           [](ConvSpec& o) { o.layout = Layout::plain; }, [](ConvSpec& o) { o.dtype = DType::f64; },
           [](ConvSpec& o) { o.n = 1; }}) {
    ConvSpec other = s;
    change(other);
    EXPECT_EQ(make_winograd_conv2d(other), nullptr);
    EXPECT_EQ(make_winograd_conv2d_dx(other), nullptr);
    EXPECT_EQ(make_winograd_conv2d_dw(other), nullptr);
  }
}

}  // namespace
}  // namespace hocket::kernel
