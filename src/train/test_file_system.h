#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "train/file_system.h"

namespace hocket {

// Fails the n-th operation of all with an Error, as a full or broken disk does; a failing write is a short
// one. Syncs count, but cost no time.
class FailingFileSystem final : public FileSystem {
 public:
  static constexpr int kNever = 1 << 30;
  explicit FailingFileSystem(int nth = kNever) : left_(nth) {}
  bool fired() const { return left_ <= 0; }

  void create_directories(const std::filesystem::path& path) override {
    step(), disk_.create_directories(path);
  }
  std::unique_ptr<OutputFile> create(const std::filesystem::path& path) override {
    step();
    return std::make_unique<File>(*this, disk_.create(path));
  }
  std::unique_ptr<InputFile> open(const std::filesystem::path& path) override {
    return step(), disk_.open(path);
  }
  std::vector<std::string> list(const std::filesystem::path& path) override {
    return step(), disk_.list(path);
  }
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    step(), disk_.rename(from, to);
  }
  void exchange(const std::filesystem::path& a, const std::filesystem::path& b) override {
    step(), disk_.exchange(a, b);
  }
  void remove_all(const std::filesystem::path& path) override { step(), disk_.remove_all(path); }
  void sync_directory(const std::filesystem::path&) override { step(); }

 private:
  class File final : public OutputFile {
   public:
    File(FailingFileSystem& owner, std::unique_ptr<OutputFile> file)
        : owner_(owner), file_(std::move(file)) {}
    void write(std::span<const std::byte> bytes) override {
      if (owner_.left_ == 1) file_->write(bytes.first(bytes.size() / 2));
      owner_.step();
      file_->write(bytes);
    }
    void sync() override { owner_.step(); }

   private:
    FailingFileSystem& owner_;
    std::unique_ptr<OutputFile> file_;
  };

  void step() {
    if (--left_ == 0) throw Error("cannot write: No space left on device");
  }

  int left_;
  FileSystem& disk_ = posix_file_system();
};

}  // namespace hocket
