#include "graph/conversion.h"

#include "base/error.h"
#include "graph/build.h"
#include "graph/operators/operands.h"

namespace hocket {
namespace {

bool is_replicated(const Placement& placement) { return std::holds_alternative<Replicated>(placement); }

const Sharded* cut_of(const Placement& placement) { return std::get_if<Sharded>(&placement); }

// Dimension `from` of a value with dimensions [0, rank) moves to `to`, the others keep their order.
Value move_dimension(Value value, int from, int to) {
  IntList perm;
  for (int dim = 0; dim < value.shape().rank(); ++dim) {
    if (dim != from) perm.push_back(dim);
  }
  perm.insert(perm.begin() + to, from);
  return transpose(value, perm);
}

// (…, ranks · n, …) → (ranks, …, n, …)
Value blocks_first(Value value, int dim, int ranks) {
  IntList shape = dims_of(value.shape());
  shape[static_cast<std::size_t>(dim)] /= ranks;
  shape.insert(shape.begin() + dim, ranks);
  return move_dimension(reshape(value, shape), dim, 0);
}

// (ranks, …, n, …) → (…, ranks · n, …), where `dim` counts without the first dimension.
Value blocks_merged(Value value, int dim) {
  IntList shape = dims_of(value.shape());
  shape[static_cast<std::size_t>(dim) + 1] *= shape[0];
  shape.erase(shape.begin());
  return reshape(move_dimension(value, 0, dim), shape);
}

class Converter {
 public:
  Converter(const Mesh::Axis& axis, int index) : axis_(axis), index_(index) {}

  Value gather(Value x, int dim) const {
    if (dim == 0) return communicate("all_gather", x);
    IntList shape = dims_of(x.shape());
    shape.insert(shape.begin(), 1);
    return blocks_merged(communicate("all_gather", reshape(x, shape)), dim);
  }

  Value reduce_to_all(Value x, Reduction reduction) const {
    return communicate("all_reduce", x, reduction == Reduction::max ? "max" : "sum");
  }

  Value reduce_to_parts(Value x, int dim) const {
    if (dim == 0) return communicate("reduce_scatter", x);
    const Value y = communicate("reduce_scatter", blocks_first(x, dim, axis_.size));
    IntList shape = dims_of(y.shape());
    shape.erase(shape.begin());
    return reshape(y, shape);
  }

  Value recut(Value x, int from, int to) const {
    return blocks_merged(communicate("all_to_all", blocks_first(x, to, axis_.size)), from);
  }

  Value take_part(Value x, int dim) const {
    IntList begin(static_cast<std::size_t>(x.shape().rank()), 0), end = dims_of(x.shape());
    const std::int64_t part = x.dim(dim) / axis_.size;
    begin[static_cast<std::size_t>(dim)] = index_ * part;
    end[static_cast<std::size_t>(dim)] = (index_ + 1) * part;
    return slice(x, begin, end);
  }

  Value keep_on_first(Value x) const { return scale(x, index_ == 0 ? 1 : 0); }

 private:
  Value communicate(std::string_view op, Value x, std::string_view reduction = "sum") const {
    Attributes attributes{{"axis", axis_.name}, {"ranks", std::int64_t{axis_.size}}};
    if (reduction != "sum") attributes.set("reduction", std::string(reduction));
    return x.graph().add(op, {x}, attributes, fmt::format("{}.{}.{}", x.info().name, axis_.name, op));
  }

  const Mesh::Axis& axis_;
  int index_;
};

}  // namespace

std::optional<std::string_view> collective_between(const Placement& from, const Placement& to) {
  if (from == to) return "";
  const auto* partial = std::get_if<Partial>(&from);
  if (is_replicated(from)) {
    const auto* terms = std::get_if<Partial>(&to);
    const bool is_sum = terms != nullptr && terms->reduction == Reduction::sum;
    return cut_of(to) != nullptr || is_sum ? std::optional<std::string_view>("") : std::nullopt;
  }
  if (cut_of(from) != nullptr && is_replicated(to)) return "all_gather";
  if (cut_of(from) != nullptr && cut_of(to) != nullptr) return "all_to_all";
  if (partial != nullptr && is_replicated(to)) return "all_reduce";
  if (partial != nullptr && partial->reduction == Reduction::sum && cut_of(to) != nullptr)
    return "reduce_scatter";
  return std::nullopt;
}

Value convert(Value value, const Placement& from, const Placement& to, const Mesh::Axis& axis, int index) {
  const Converter converter(axis, index);
  const std::optional<std::string_view> collective = collective_between(from, to);
  HOCKET_CHECK(collective, "{}: no way from {} to {}", value.info().name, to_string(from), to_string(to));
  if (*collective == "all_gather") return converter.gather(value, cut_of(from)->dim);
  if (*collective == "all_to_all") return converter.recut(value, cut_of(from)->dim, cut_of(to)->dim);
  if (*collective == "all_reduce") return converter.reduce_to_all(value, std::get<Partial>(from).reduction);
  if (*collective == "reduce_scatter") return converter.reduce_to_parts(value, cut_of(to)->dim);
  return cut_of(to) != nullptr ? converter.take_part(value, cut_of(to)->dim) : converter.keep_on_first(value);
}

}  // namespace hocket
