#include <cstring>

#include "runtime/lowering.h"

namespace hocket {
namespace {

std::unique_ptr<Kernel> make_view(const NodeView& node) {
  const std::size_t begin = static_cast<std::size_t>(node.integer("begin")) * size_of(node.in_dtype(0));
  return make_kernel([begin, bytes = bytes_of(node.out(0).type)](Buffers in, Buffers out) {
    if (out[0] != in[0] + begin) std::memcpy(out[0], in[0] + begin, bytes);
  });
}

// An operand that the memory plan has put into the bucket is there already.
std::unique_ptr<Kernel> make_pack(const NodeView& node) {
  struct Part {
    std::size_t offset, bytes;
    std::size_t end;  // Where the next one starts.
  };
  std::vector<Part> parts;
  const IntList begins = node.attributes().list("begins");
  std::size_t head = bytes_of(node.out(0).type);  // Bytes before the first.
  for (int i = node.in_count() - 1; i >= 0; --i) {
    const std::size_t offset =
        static_cast<std::size_t>(begins[static_cast<std::size_t>(i)]) * size_of(node.in_dtype(i));
    parts.insert(parts.begin(), {offset, bytes_of(node.in(i).type), head});
    head = offset;
  }
  return make_kernel([parts = std::move(parts), head](Buffers in, Buffers out) {
    std::memset(out[0], 0, head);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto [offset, bytes, end] = parts[i];
      if (out[0] + offset != in[i]) std::memcpy(out[0] + offset, in[i], bytes);
      std::memset(out[0] + offset + bytes, 0, end - offset - bytes);
    }
  });
}

}  // namespace

std::vector<Lowering> flat_lowerings() { return {{"view", make_view}, {"pack", make_pack}}; }

}  // namespace hocket
