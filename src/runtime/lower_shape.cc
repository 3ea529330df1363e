#include <algorithm>

#include "base/error.h"
#include "runtime/lowering.h"
#include "runtime/stored.h"
#include "tensor/kernels/shape.h"
#include "tensor/reference/shape.h"

namespace hocket {
namespace {

// The permutation of stored axes that makes y of x, where axis i of y is axis perm[i] of x.
TransposeSpec stored_transpose(const ValueInfo& x, const ValueInfo& y, const std::vector<int>& perm) {
  const std::vector<int> x_axes = stored_axes(x.type.shape.rank(), x.layout);
  TransposeSpec spec;
  spec.x = stored_shape(x);
  spec.dtype = x.type.dtype;
  for (const int axis : stored_axes(static_cast<int>(perm.size()), y.layout)) {
    const auto at = std::find(x_axes.begin(), x_axes.end(), perm[static_cast<std::size_t>(axis)]);
    spec.perm.push_back(static_cast<int>(at - x_axes.begin()));
  }
  return spec;
}

TransposeSpec transpose_spec(const NodeView& node) {
  const IntList perm = node.attributes().list("perm");
  return stored_transpose(node.in(0), node.out(0), {perm.begin(), perm.end()});
}

TransposeSpec to_layout_spec(const NodeView& node) {
  return stored_transpose(node.in(0), node.out(0), stored_axes(node.in_shape(0).rank(), Layout::plain));
}

// A copy, from the stored to the logical order.
TransposeSpec reshape_spec(const NodeView& node) {
  if (node.out(0).layout != Layout::plain) throw ConfigError("the result of reshape must be plain");
  const std::vector<int> same_order = stored_axes(node.in_shape(0).rank(), Layout::plain);
  ValueInfo plain = node.in(0);
  plain.layout = Layout::plain;
  return stored_transpose(node.in(0), plain, same_order);
}

StridedSpec strided_spec(const NodeView& node, const ValueInfo& whole, const ValueInfo& part,
                         std::string_view begin) {
  StridedSpec spec;
  spec.whole = stored_shape(whole);
  spec.part = stored_shape(part);
  const auto rank = static_cast<std::size_t>(spec.whole.rank());
  spec.begin = stored_list(node.attributes().list(begin, IntList(rank, 0)), whole.layout);
  spec.step = stored_list(node.attributes().list("step", IntList(rank, 1)), whole.layout);
  spec.dtype = whole.type.dtype;
  return spec;
}

StridedSpec slice_spec(const NodeView& node) { return strided_spec(node, node.in(0), node.out(0), "begin"); }
StridedSpec unslice_spec(const NodeView& node) {
  return strided_spec(node, node.out(0), node.in(0), "begin");
}
StridedSpec pad_spec(const NodeView& node) { return strided_spec(node, node.out(0), node.in(0), "before"); }

// Where `axis`, counted from the end when it is negative, stands among the stored axes of `value`.
int stored_axis(const ValueInfo& value, std::int64_t axis) {
  const int rank = value.type.shape.rank();
  const std::vector<int> axes = stored_axes(rank, value.layout);
  const auto at = std::find(axes.begin(), axes.end(), static_cast<int>(axis < 0 ? axis + rank : axis));
  return static_cast<int>(at - axes.begin());
}

ConcatSpec concat_spec(const NodeView& node) {
  const Shape whole = stored_shape(node.out(0));
  const int axis = stored_axis(node.out(0), node.integer("axis"));
  ConcatSpec spec;
  spec.outer = whole.count(0, axis);
  spec.dtype = node.out_dtype(0);
  for (int i = 0; i < node.in_count(); ++i) spec.widths.push_back(node.in_shape(i).count() / spec.outer);
  return spec;
}

BroadcastSpec broadcast_spec(const NodeView& node) {
  return {stored_for_broadcast(node.in(0), node.out(0).layout), stored_shape(node.out(0)), node.out_dtype(0)};
}

ReduceSpec sum_to_spec(const NodeView& node) {
  ReduceSpec spec;
  spec.x = stored_shape(node.in(0));
  spec.dtype = node.in_dtype(0);
  const Shape target = stored_for_broadcast(node.out(0), node.in(0).layout);
  const int missing = spec.x.rank() - target.rank();
  for (int axis = 0; axis < spec.x.rank(); ++axis) {
    spec.reduced.push_back(axis < missing || (target[axis - missing] == 1 && spec.x[axis] != 1));
  }
  return spec;
}

template <Reduce op, int x>
ReduceSpec reduce_spec(const NodeView& node) {
  ReduceSpec spec;
  spec.op = op;
  spec.x = stored_shape(node.in(x));
  spec.dtype = node.in_dtype(x);
  spec.reduced.assign(static_cast<std::size_t>(spec.x.rank()), !node.attributes().has("axes"));
  for (const std::int64_t axis : node.attributes().list("axes")) {
    spec.reduced[static_cast<std::size_t>(stored_axis(node.in(x), axis))] = true;
  }
  return spec;
}

template <Reduce op>
constexpr auto kReduce = choose<kernel::make_reduce, reference::make_reduce, reduce_spec<op, 0>>;

}  // namespace

std::vector<Lowering> shape_lowerings() {
  return {
      {"reshape", choose<kernel::make_transpose, reference::make_transpose, reshape_spec>},
      {"transpose", choose<kernel::make_transpose, reference::make_transpose, transpose_spec>},
      {"to_layout", choose<kernel::make_transpose, reference::make_transpose, to_layout_spec>},
      {"slice", choose<kernel::make_slice, reference::make_slice, slice_spec>},
      {"unslice", choose<kernel::make_unslice, reference::make_unslice, unslice_spec>},
      {"pad", choose<kernel::make_unslice, reference::make_unslice, pad_spec>},
      {"concat", choose<kernel::make_concat, reference::make_concat, concat_spec>},
      {"broadcast_to", choose<kernel::make_broadcast_to, reference::make_broadcast_to, broadcast_spec>},
      {"sum_to", choose<kernel::make_reduce, reference::make_reduce, sum_to_spec>},
      {"reduce_sum", kReduce<Reduce::sum>},
      {"reduce_mean", kReduce<Reduce::mean>},
      {"reduce_max", kReduce<Reduce::max>},
      {"reduce_max_grad",
       choose<kernel::make_reduce_max_grad, reference::make_reduce_max_grad, reduce_spec<Reduce::max, 1>>},
  };
}

}  // namespace hocket
