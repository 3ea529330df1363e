#pragma once

#include <cstdint>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/layout.h"
#include "tensor/shape.h"

// What a kernel is prepared for: one struct per family, shared by the fast kernels (kernels/) and the naive
// ones (reference/). docs/OPERATORS.md gives the formulas; operands come in the order given there. `dtype` is
// that of the floating-point operands; label, ids, columns, offsets and index have the fixed dtypes of that
// page.
namespace hocket {

enum class Activation : std::uint8_t { none, relu };

// y (batch, m, n) = act(op(a)·op(b) + bias). For matmul_dw: x (m, k), dy (m, n), dw (k, n) or, with tb, (n,
// k).
struct MatmulSpec {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool ta = false, tb = false;
  bool has_bias = false;
  Activation activation = Activation::none;
  DType dtype = DType::f32;        // Of the result and the bias.
  DType input_dtype = DType::f32;  // Of a and b: dtype, or bf16.
};

struct ConvSpec {  // x (n, c, h, w), w (o, c/groups, kh, kw), y (n, o, oh(), ow()); x and y have `layout`, w
                   // is plain. Of conv2d_dw, has_bias says whether it makes the bias' gradient too. With a
                   // pool, y is the maximum of each pool × pool window, and where it was found is an output
                   // besides; the gradients of x and w read it after their other operands.
  std::int64_t n = 0, c = 0, h = 0, w = 0, o = 0, kh = 0, kw = 0;
  std::int64_t stride = 1, padding = 0, groups = 1, pool = 1;
  bool has_bias = false;
  Activation activation = Activation::none;
  DType dtype = DType::f32;
  DType input_dtype = DType::f32;
  Layout layout = Layout::plain;

  std::int64_t oh() const { return (h + 2 * padding - kh) / stride + 1; }
  std::int64_t ow() const { return (w + 2 * padding - kw) / stride + 1; }
};

struct PoolSpec {  // All image operands have `layout`.
  std::int64_t n = 0, c = 0, h = 0, w = 0;
  std::int64_t kernel = 2, stride = 2, padding = 0;
  DType dtype = DType::f32;
  Layout layout = Layout::plain;

  std::int64_t oh() const { return (h + 2 * padding - kernel) / stride + 1; }
  std::int64_t ow() const { return (w + 2 * padding - kernel) / stride + 1; }
};

// What a convolution with a pool does to its outputs.
inline PoolSpec pool_of(const ConvSpec& s) {
  return {s.n, s.o, s.oh(), s.ow(), s.pool, s.pool, 0, s.dtype, s.layout};
}

// The same convolution without one.
inline ConvSpec without_pool(ConvSpec s) {
  s.pool = 1;
  return s;
}

// x (n, c, spatial), stored as (n, spatial, c) where the layout is channels_last. With relu, the gradients
// take beta as their last operand and find where y was positive themselves.
struct BatchNormSpec {
  std::int64_t n = 0, c = 0, spatial = 1;
  double eps = 1e-5;
  double momentum = 0.1;
  bool has_residual = false;  // bn_apply and bn_inference add their last operand before the activation.
  Activation activation = Activation::none;
  DType dtype = DType::f32;
  Layout layout = Layout::plain;
};

struct RowsSpec {  // Work on the last dimension of a tensor seen as (rows, width): layer norm, softmax,
                   // argmax.
  std::int64_t rows = 0, width = 0;
  double eps = 1e-5;
  DType dtype = DType::f32;
};

struct LossSpec {  // x (rows, width); samples divides rows.
  std::int64_t rows = 0, width = 0, samples = 0;
  DType dtype = DType::f32;
  DType label_dtype = DType::i32;    // Of count_correct's label: i32 or dtype.
  std::int64_t part = 0, parts = 1;  // Where x has one of equally many parts of the classes.

  std::int64_t first() const { return part * width; }  // The class of the first column.
  std::int64_t classes() const { return parts * width; }
};

struct AttentionSpec {
  std::int64_t n = 0, t = 0, c = 0, heads = 1;
  bool causal = true;
  DType dtype = DType::f32;
};

struct EmbeddingSpec {  // table (vocabulary, width), ids (count)
  std::int64_t vocabulary = 0, width = 0, count = 0;
  DType dtype = DType::f32;
  std::int64_t first = 0;  // The id of the table's first row, where it is part of a longer one.
};

struct CsrSpec {  // values and columns (capacity), offsets (n + 1), w (features, k), y (n, k)
  std::int64_t n = 0, capacity = 0, features = 0, k = 1;
  DType dtype = DType::f32;
  std::int64_t first = 0;  // The feature of w's first row, where it is part of a longer matrix.
};

enum class Unary : std::uint8_t { relu, tanh, sigmoid, gelu, exp };
enum class Binary : std::uint8_t { add, sub, mul, div };
enum class Reduce : std::uint8_t { sum, mean, max };

struct UnarySpec {
  Unary op = Unary::relu;
  std::int64_t count = 0;
  DType dtype = DType::f32;
};

struct UnaryGradSpec {  // dx from (dy, y), or (dy, x) for gelu; relu may have a second dy to add, last.
  Unary op = Unary::relu;
  std::int64_t count = 0;
  bool has_second = false;
  DType dtype = DType::f32;
};

struct ScaleSpec {  // y = factor·x + offset
  std::int64_t count = 0;
  double factor = 1, offset = 0;
  DType dtype = DType::f32;
};

// x (n, c, spatial), stored as (n, spatial, c) where the layout is channels_last. Where x is part of a longer
// tensor, every `run` elements in the logical order are number `part` of `parts` such runs.
struct DropoutSpec {
  std::int64_t n = 0, c = 1, spatial = 1;
  double rate = 0.5;
  std::int64_t stream = 0;
  DType dtype = DType::f32;
  Layout layout = Layout::plain;
  std::int64_t run = 1, part = 0, parts = 1;

  // The index in the whole tensor of an element of this one, counted in the logical order.
  std::int64_t global(std::int64_t element) const {
    return element + (element / run * (parts - 1) + part) * run;
  }
};

struct CastSpec {
  std::int64_t count = 0;
  DType from = DType::f32, to = DType::f32;
};

struct BinarySpec {  // Shapes as stored (permuted where the layout is channels_last); broadcasting as NumPy
                     // does.
  Binary op = Binary::add;
  Shape a, b, y;
  DType dtype = DType::f32;
};

struct BroadcastSpec {  // Shapes as stored.
  Shape x, y;
  DType dtype = DType::f32;
};

struct ReduceSpec {  // Reduces every axis i of `x` with reduced[i].
  Reduce op = Reduce::sum;
  Shape x;
  std::vector<bool> reduced;
  DType dtype = DType::f32;
};

// y[i…] = x[begin + i·step …] for every i inside `count`: slice. The reverse, into zeros, is unslice and pad.
struct StridedSpec {
  Shape whole;  // The larger tensor, as stored.
  Shape part;   // The smaller one, as stored.
  std::vector<std::int64_t> begin, step;
  DType dtype = DType::f32;
};

struct TransposeSpec {  // y[i…] has the dimensions x.shape[perm[i]] …; also what converts a layout.
  Shape x;
  std::vector<int> perm;
  DType dtype = DType::f32;
};

struct ConcatSpec {  // Each part is (outer, widths[i]), y is (outer, Σ widths).
  std::int64_t outer = 1;
  std::vector<std::int64_t> widths;
  DType dtype = DType::f32;
};

enum class UpdateRule : std::uint8_t { sgd, momentum, nesterov, adagrad, adam, adamw };

struct UpdateSpec {
  UpdateRule rule = UpdateRule::sgd;
  std::int64_t count = 0;            // Elements of the parameter.
  std::int64_t rows = 0, width = 0;  // For a row-sparse gradient: (rows, width) and their ids; else rows = 0.
  std::int64_t first = 0;            // The id of the parameter's first row, where it is part of a longer one.
  double mu = 0.9, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 0;
  bool has_scale = false;
  DType dtype = DType::f32;

  int slots() const;  // How many state tensors the rule keeps.
};

struct SquareSumsSpec {
  static constexpr std::int64_t kBlock = 1024;

  std::vector<std::int64_t> counts;  // Elements of each operand.
  std::vector<std::int64_t> begins;  // The place of its first block.
  std::int64_t size = 0;             // Places.
  DType dtype = DType::f32;
};

struct ClipSpec {
  std::vector<std::int64_t> counts;  // Of sums, of each operand.
  double max = 0;
};

struct AccumulateSpec {
  std::int64_t count = 0;
  DType dtype = DType::f32;
};

}  // namespace hocket
