#include "tensor/pooled_conv.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tensor/arena.h"

namespace hocket {
namespace {

// The second kernel takes the first one's result before its own operands of the whole.
class ChainedKernel final : public Kernel {
 public:
  struct Link {
    std::unique_ptr<Kernel> kernel;
    std::vector<std::size_t> operands;
  };

  ChainedKernel(Link first, std::size_t bytes_between, Link second)
      : first_(std::move(first)), second_(std::move(second)), scratch_at_(align_up(bytes_between)) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    std::byte* operands[kMostOperands];
    std::byte* between[] = {scratch};
    first_.kernel->run(select(first_, in, operands, 0), between, scratch + scratch_at_);
    operands[0] = scratch;
    second_.kernel->run(select(second_, in, operands, 1), out, scratch + scratch_at_);
  }
  std::size_t scratch_bytes() const override {
    return scratch_at_ + std::max(first_.kernel->scratch_bytes(), second_.kernel->scratch_bytes());
  }

 private:
  static constexpr std::size_t kMostOperands = 3;

  // The operands of `link`, behind `given` that are there already.
  static Buffers select(const Link& link, Buffers in, std::byte** operands, std::size_t given) {
    for (const std::size_t i : link.operands) operands[given++] = in[i];
    return {operands, given};
  }

  Link first_, second_;
  std::size_t scratch_at_;
};

std::unique_ptr<Kernel> chain(const ConvSpec& s, ChainedKernel::Link first, ChainedKernel::Link second) {
  if (first.kernel == nullptr || second.kernel == nullptr) return nullptr;
  const auto between = static_cast<std::size_t>(s.n * s.o * s.oh() * s.ow()) * size_of(s.dtype);
  return std::make_unique<ChainedKernel>(std::move(first), between, std::move(second));
}

}  // namespace

std::unique_ptr<Kernel> chain_conv_and_pool(const ConvSpec& spec, std::unique_ptr<Kernel> conv,
                                            std::unique_ptr<Kernel> pool) {
  std::vector<std::size_t> operands{0, 1};
  if (spec.has_bias) operands.push_back(2);
  return chain(spec, {std::move(conv), std::move(operands)}, {std::move(pool), {}});
}

std::unique_ptr<Kernel> chain_pool_and_gradient(const ConvSpec& spec, std::unique_ptr<Kernel> pool_dx,
                                                std::unique_ptr<Kernel> gradient) {
  return chain(spec, {std::move(pool_dx), {0, 2}}, {std::move(gradient), {1}});
}

}  // namespace hocket
