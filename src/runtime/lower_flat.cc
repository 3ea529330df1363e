#include <cstring>

#include "runtime/lowering.h"

namespace hocket {
namespace {

std::size_t bytes_of(const Type& type) {
  return static_cast<std::size_t>(type.shape.count()) * size_of(type.dtype);
}

std::unique_ptr<Kernel> make_view(const NodeView& node) {
  const std::size_t begin = static_cast<std::size_t>(node.integer("begin")) * size_of(node.in_dtype(0));
  return make_kernel([begin, bytes = bytes_of(node.out(0).type)](Buffers in, Buffers out) {
    std::memcpy(out[0], in[0] + begin, bytes);
  });
}

// An operand that the memory plan has put into the bucket is there already.
std::unique_ptr<Kernel> make_pack(const NodeView& node) {
  std::vector<std::pair<std::size_t, std::size_t>> parts;  // Offset and bytes.
  const IntList begins = node.attributes().list("begins");
  for (int i = 0; i < node.in_count(); ++i) {
    const std::size_t begin = static_cast<std::size_t>(begins[static_cast<std::size_t>(i)]);
    parts.emplace_back(begin * size_of(node.in_dtype(i)), bytes_of(node.in(i).type));
  }
  return make_kernel([parts = std::move(parts)](Buffers in, Buffers out) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto [offset, bytes] = parts[i];
      if (out[0] + offset != in[i]) std::memcpy(out[0] + offset, in[i], bytes);
    }
  });
}

}  // namespace

std::vector<Lowering> flat_lowerings() { return {{"view", make_view}, {"pack", make_pack}}; }

}  // namespace hocket
