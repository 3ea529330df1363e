#include "tensor/kernel_specs.h"

namespace hocket {

int UpdateSpec::slots() const {
  switch (rule) {
    case UpdateRule::sgd: return 0;
    case UpdateRule::momentum:
    case UpdateRule::nesterov:
    case UpdateRule::adagrad: return 1;
    case UpdateRule::adam:
    case UpdateRule::adamw: break;
  }
  return 2;
}

}  // namespace hocket
