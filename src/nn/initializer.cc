#include "nn/initializer.h"

#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace hocket {
namespace {

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = name.size();
  for (const char c : name) hash = mix_bits(hash ^ static_cast<unsigned char>(c));
  return hash;
}

template <typename Draw>
void fill(const Tensor& out, Draw draw) {
  for (float& x : out.dtype() == DType::f32 ? out.values<float>() : std::span<float>())
    x = static_cast<float>(draw());
  for (double& x : out.dtype() == DType::f64 ? out.values<double>() : std::span<double>()) x = draw();
}

}  // namespace

Attributes zeros() { return {{"init", std::string("zeros")}}; }
Attributes ones() { return {{"init", std::string("ones")}}; }
Attributes normal(double std) { return {{"init", std::string("normal")}, {"std", std}}; }
Attributes uniform(double bound) { return {{"init", std::string("uniform")}, {"bound", bound}}; }
Attributes he_normal(std::int64_t fan_in) { return normal(std::sqrt(2.0 / static_cast<double>(fan_in))); }
Attributes fan_in_uniform(std::int64_t fan_in) {
  return uniform(1.0 / std::sqrt(static_cast<double>(fan_in)));
}

Attributes cut_along(std::int64_t dim, Attributes init) {
  init.set("tp", dim);
  return init;
}

void initialize(const ValueInfo& source, std::uint64_t seed, const Tensor& out) {
  const std::string kind = source.attributes.text("init", "zeros");
  Rng rng{seed, hash_of(source.name)};
  if (kind == "zeros") {
    fill(out, [] { return 0.0; });
  } else if (kind == "ones") {
    fill(out, [] { return 1.0; });
  } else if (kind == "normal") {
    const double std = source.attributes.real("std", 0.01);
    fill(out, [&] { return std * rng.normal(); });
  } else if (kind == "uniform") {
    const double bound = source.attributes.real("bound", 0.01);
    fill(out, [&] { return rng.uniform(-bound, bound); });
  } else {
    throw ConfigError("{}: unknown initializer {}; known: zeros, ones, normal, uniform", source.name, kind);
  }
}

}  // namespace hocket
