#include "data/text_dataset.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/rng.h"
#include "data/file.h"

namespace hocket {
namespace {

constexpr std::int64_t kSymbols = 256;

// Windows such that the last one, moved by up to context - 1 bytes, still has its next byte.
std::int64_t count_windows(std::int64_t bytes, std::int64_t context, bool shift) {
  return shift ? std::max<std::int64_t>(1, bytes / context - 1) : (bytes - 1) / context;
}

}  // namespace

TextDataset::TextDataset(std::string name, std::span<const std::byte> text, std::shared_ptr<const void> owner,
                         std::int64_t context, bool shift)
    : text_(text), owner_(std::move(owner)), context_(context) {
  const auto bytes = static_cast<std::int64_t>(text.size());
  if (bytes < context + 1) {
    throw DataError("{}: expected at least {} bytes, a window of context={} and its next byte, found {}",
                    name, context + 1, context, bytes);
  }
  shift_ = shift && bytes >= 2 * context;
  info_.name = std::move(name);
  info_.task = Task::language;
  info_.classes = kSymbols;
  info_.fields = {{"tokens", DType::i32, {context}}, {"label", DType::i32, {context}}};
  info_.size = count_windows(bytes, context, shift_);
  info_.bytes = bytes;
}

std::int64_t TextDataset::shift_of(std::int64_t epoch) const {
  if (!shift_ || epoch == 0) return 0;
  return static_cast<std::int64_t>(
      Rng{0x74657874, static_cast<std::uint64_t>(epoch)}.below(static_cast<std::uint64_t>(context_)));
}

void TextDataset::gather(std::span<const std::int64_t> indices, std::int64_t epoch,
                         std::span<const Tensor> out) const {
  const std::int64_t shift = shift_of(epoch);
  std::int32_t* tokens = out[0].values<std::int32_t>().data();
  std::int32_t* labels = out[1].values<std::int32_t>().data();
  for (const std::int64_t index : indices) {
    const auto* window = reinterpret_cast<const std::uint8_t*>(text_.data()) + index * context_ + shift;
    tokens = std::copy_n(window, context_, tokens);
    labels = std::copy_n(window + 1, context_, labels);
  }
  for (const Tensor& tensor : out) zero_rows_from(tensor, static_cast<std::int64_t>(indices.size()));
}

DataParts open_text(const DataSource& source, const DataSource* test) {
  const std::int64_t context = source.integer("context", 128, 1, 1 << 20);
  const std::int64_t holdout = source.integer("holdout", test == nullptr ? 10 : 0, 0, 90);
  const std::string name = std::filesystem::path(source.location).filename().string();
  const FileBytes file(source.location);
  const std::size_t train_bytes =
      file.bytes().size() - file.bytes().size() * static_cast<std::size_t>(holdout) / 100;

  DataParts parts;
  parts.train =
      std::make_unique<TextDataset>(name, file.bytes().first(train_bytes), file.owner(), context, true);
  if (test != nullptr) {
    const FileBytes other(test->location);
    parts.test = std::make_unique<TextDataset>(other.name(), other.bytes(), other.owner(), context, false);
  } else if (holdout > 0) {
    parts.test =
        std::make_unique<TextDataset>(fmt::format("{} (last {} %)", name, holdout),
                                      file.bytes().subspan(train_bytes), file.owner(), context, false);
  }
  return parts;
}

}  // namespace hocket
