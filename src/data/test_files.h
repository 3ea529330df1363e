#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hocket {

// A folder for the files of one test, removed with it.
class TestFolder {
 public:
  TestFolder() {
    static std::atomic<int> count = 0;
    path_ = std::filesystem::temp_directory_path() / fmt::format("hocket-{}-{}", ::getpid(), count++);
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

  // Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view contents) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << contents;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

// A file of the folder that the environment variable HOCKET_TEST_DATA names, where there is one.
inline std::optional<std::string> find_test_data(std::string_view name) {
  const char* folder = std::getenv("HOCKET_TEST_DATA");
  if (folder == nullptr) return std::nullopt;
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  return std::filesystem::exists(path) ? std::optional(path.string()) : std::nullopt;
}

// How often this test program has called operator new.
std::int64_t allocation_count();

// The message of the `Expected` that `body` throws; fails the test where it throws none.
template <typename Expected, typename Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of error: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace hocket

// Skips the test where the real file is not there; else `variable` is its path.
#define HOCKET_REAL_FILE(variable, name)                                                         \
  const auto variable##_found = ::hocket::find_test_data(name);                                  \
  if (!variable##_found) GTEST_SKIP() << "set HOCKET_TEST_DATA to a folder that has " << (name); \
  const std::string& variable = *variable##_found
