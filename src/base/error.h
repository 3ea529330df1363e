#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace hocket {

// A failure that ends the step or the job. The message is one line that says who, what, where and what was
// expected; `main()` prints it and turns the type into the exit code.
class Error : public std::runtime_error {
 public:
  template <typename... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

// Wrong usage, configuration or model (exit code 2).
class ConfigError final : public Error {
 public:
  using Error::Error;
};

// Bad data: a file that is missing, torn or not what it claims to be (exit code 3).
class DataError final : public Error {
 public:
  using Error::Error;
};

// A peer or the network failed (exit code 4).
class NetError final : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace hocket

// Aborts with a message when an invariant of the program is broken. Never reachable from user input.
#define HOCKET_CHECK(condition, ...)                                                         \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      ::hocket::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    }                                                                                        \
  } while (false)
