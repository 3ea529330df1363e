#include "ps/store.h"

#include <cmath>

#include "base/error.h"
#include "ps/dense_store.h"
#include "ps/table_store.h"

namespace hocket {
namespace {

void require_sane(const RangeSpec& spec) {
  if (!std::isfinite(spec.spread) || spec.spread < 0)
    throw NetError("a table has a spread of {}", spec.spread);
  if (spec.dtype != DType::f32 && spec.dtype != DType::f64)
    throw NetError("a range of {} cannot be trained", name_of(spec.dtype));
  try {
    validate(spec.optimizer);
  } catch (const ConfigError& error) {
    throw NetError("a range has no usable optimizer: {}", error.what());
  }
}

}  // namespace

std::unique_ptr<Store> make_store(const Init& init) {
  require_sane(init.spec);
  return init.spec.width != 0 ? make_table_store(init) : make_dense_store(init);
}

}  // namespace hocket
