#pragma once

#include <memory>
#include <span>
#include <string>

#include "data/dataset.h"
#include "data/source.h"

namespace hocket {

// Windows of `context` bytes that cover a text one after the other. Fields: "tokens" i32[context] and
// "label", the same bytes one place on. With `shift`, each epoch moves all windows by its own number of
// bytes, so that over the epochs a byte is seen at every position.
class TextDataset final : public Dataset {
 public:
  // `owner` keeps `text` alive. Throws DataError where the text is too short for one window.
  TextDataset(std::string name, std::span<const std::byte> text, std::shared_ptr<const void> owner,
              std::int64_t context, bool shift);
  const DataInfo& info() const override { return info_; }
  void gather(std::span<const std::int64_t> indices, std::int64_t epoch,
              std::span<const Tensor> out) const override;

 private:
  std::int64_t shift_of(std::int64_t epoch) const;

  DataInfo info_;
  std::span<const std::byte> text_;
  std::shared_ptr<const void> owner_;
  std::int64_t context_;
  bool shift_;
};

// A text file, plain or gzip. Without `test`, the last part of it is held out for testing.
// Options: context (128), holdout (10: percent of the file).
DataParts open_text(const DataSource& source, const DataSource* test);

}  // namespace hocket
