#include "tensor/tensor.h"

namespace hocket {

Tensor::Tensor(DType dtype, const Shape& shape) : dtype_(dtype), shape_(shape) {
  const auto arena = std::make_shared<Arena>(byte_size());
  data_ = arena->data();
  owner_ = arena;
}

Tensor::Tensor(DType dtype, const Shape& shape, std::byte* bytes, std::shared_ptr<const void> owner)
    : dtype_(dtype), shape_(shape), data_(bytes), owner_(std::move(owner)) {}

}  // namespace hocket
