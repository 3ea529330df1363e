#pragma once

#include <memory>

#include "ps/store.h"

namespace hocket {

// A part of the dense parameters in aligned memory, updated by the kernels of the training step, so that the
// same gradients leave the same bits. A range does not see the whole gradient: it does not clip. Empty values
// are zero, as empty state is. Throws NetError where they fit the spec no better.
std::unique_ptr<Store> make_dense_store(const Init& init);

}  // namespace hocket
