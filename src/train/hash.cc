#include "train/hash.h"

#include <xxhash.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace hocket {
namespace {

// Lengths go before contents, so that no two different lists of parameters give the same stream of bytes.
void update_number(Hasher& hasher, std::int64_t number) {
  hasher.update(std::as_bytes(std::span(&number, 1)));
}

void update_text(Hasher& hasher, std::string_view text) {
  update_number(hasher, static_cast<std::int64_t>(text.size()));
  hasher.update(std::as_bytes(std::span(text)));
}

}  // namespace

Hasher::Hasher() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

void Hasher::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

void Hasher::update(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

std::string Hasher::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string hash_bytes(std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.update(bytes);
  return hasher.digest();
}

void ParameterHasher::update(std::string_view name, const Tensor& tensor) {
  update_text(hasher_, name);
  update_text(hasher_, name_of(tensor.dtype()));
  update_number(hasher_, tensor.shape().rank());
  for (const std::int64_t dim : tensor.shape()) update_number(hasher_, dim);
  hasher_.update(tensor.bytes());
}

std::string parameter_hash(std::span<const NamedTensor> parameters) {
  std::vector<const NamedTensor*> sorted;
  sorted.reserve(parameters.size());
  for (const NamedTensor& parameter : parameters) sorted.push_back(&parameter);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });

  ParameterHasher hasher;
  for (const NamedTensor* parameter : sorted) hasher.update(parameter->first, parameter->second);
  return hasher.digest();
}

}  // namespace hocket
