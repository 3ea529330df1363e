#include "tensor/reference/csr_update.h"

#include <vector>

#include "tensor/reference/sparse.h"
#include "tensor/reference/update.h"

namespace hocket::reference {
namespace {

class CsrUpdate final : public Kernel {
 public:
  explicit CsrUpdate(const CsrUpdateSpec& spec)
      : gradient_bytes_(static_cast<std::size_t>(spec.csr.features * spec.csr.k) * size_of(spec.csr.dtype)),
        gradient_(make_csr_matmul_dw(spec.csr)) {
    UpdateSpec update = spec.update;
    update.count = spec.csr.features * spec.csr.k;
    update_ = make_update(update);
  }

  void run(Buffers in, Buffers, std::byte* scratch) const override {
    std::byte* const products[] = {in[1], in[2], in[3], in[4]};
    std::byte* const gradient[] = {scratch};
    gradient_->run(products, gradient, nullptr);
    std::vector<std::byte*> operands{in[0], scratch};
    operands.insert(operands.end(), in.begin() + 5, in.end());
    update_->run(operands, {}, nullptr);
  }
  std::size_t scratch_bytes() const override { return gradient_bytes_; }

 private:
  std::size_t gradient_bytes_;
  std::unique_ptr<Kernel> gradient_, update_;
};

}  // namespace

std::unique_ptr<Kernel> make_csr_update(const CsrUpdateSpec& spec) {
  return std::make_unique<CsrUpdate>(spec);
}

}  // namespace hocket::reference
