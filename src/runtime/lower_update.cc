#include "runtime/lowering.h"
#include "tensor/kernels/update.h"
#include "tensor/reference/update.h"

namespace hocket {
namespace {

template <UpdateRule rule>
UpdateSpec update_spec(const NodeView& node) {
  UpdateSpec spec;
  spec.rule = rule;
  spec.count = node.in_shape(0).count();
  spec.mu = node.real("mu", spec.mu);
  spec.beta1 = node.real("beta1", spec.beta1);
  spec.beta2 = node.real("beta2", spec.beta2);
  spec.eps = node.real("eps", rule == UpdateRule::adagrad ? 1e-10 : 1e-8);
  spec.decay = node.real("decay", 0);
  spec.dtype = node.in_dtype(0);
  spec.has_scale = node.in_count() > 3 + spec.slots();  // Beside w, g, hyper and the state.
  return spec;
}

// With (w, rows, row_ids, hyper, …) instead of (w, g, hyper, …).
template <UpdateRule rule>
UpdateSpec update_rows_spec(const NodeView& node) {
  UpdateSpec spec = update_spec<rule>(node);
  spec.rows = node.in_shape(2).count();
  spec.width = node.in_shape(1).count() / spec.rows;
  spec.first = node.integer("part") * node.in_shape(0)[0];
  spec.has_scale = node.in_count() > 4 + spec.slots();
  return spec;
}

SquareSumsSpec square_sums_spec(const NodeView& node) {
  SquareSumsSpec spec;
  for (int i = 0; i < node.in_count(); ++i) spec.counts.push_back(node.in_shape(i).count());
  spec.begins = node.attributes().list("begins");
  spec.size = node.out_shape(0).count();
  if (node.in_count() > 0) spec.dtype = node.in_dtype(0);
  return spec;
}

std::unique_ptr<Kernel> make_clip_scale(const NodeView& node) {
  ClipSpec spec;
  for (int i = 0; i < node.in_count(); ++i) spec.counts.push_back(node.in_shape(i).count());
  spec.max = node.real("max", 0);
  return reference::make_clip_scale(spec);
}

AccumulateSpec accumulate_spec(const NodeView& node) { return {node.in_shape(0).count(), node.in_dtype(0)}; }

template <UpdateRule rule>
constexpr auto kUpdate = choose<kernel::make_update, reference::make_update, update_spec<rule>>;
template <UpdateRule rule>
constexpr auto kUpdateRows = choose<kernel::make_update, reference::make_update, update_rows_spec<rule>>;

}  // namespace

std::vector<Lowering> update_lowerings() {
  return {
      {"sgd", kUpdate<UpdateRule::sgd>},
      {"momentum", kUpdate<UpdateRule::momentum>},
      {"nesterov", kUpdate<UpdateRule::nesterov>},
      {"adagrad", kUpdate<UpdateRule::adagrad>},
      {"adam", kUpdate<UpdateRule::adam>},
      {"adamw", kUpdate<UpdateRule::adamw>},
      {"sgd_rows", kUpdateRows<UpdateRule::sgd>},
      {"momentum_rows", kUpdateRows<UpdateRule::momentum>},
      {"nesterov_rows", kUpdateRows<UpdateRule::nesterov>},
      {"adagrad_rows", kUpdateRows<UpdateRule::adagrad>},
      {"adam_rows", kUpdateRows<UpdateRule::adam>},
      {"adamw_rows", kUpdateRows<UpdateRule::adamw>},
      {"square_sums", choose<kernel::make_square_sums, reference::make_square_sums, square_sums_spec>},
      {"clip_scale", make_clip_scale},
      {"accumulate", choose<kernel::make_accumulate, reference::make_accumulate, accumulate_spec>},
  };
}

}  // namespace hocket
