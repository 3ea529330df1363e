#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace hocket {

struct PageAnswer {
  std::string content_type;
  std::string content;
};

// Serves pages over HTTP to this machine alone: at 127.0.0.1, to who shows the key of its address, which is
// random. What is asked for is never the name of a file. Its threads call `answer`, which must be
// thread-safe; an Error that it throws becomes one line for the reader.
class PageServer {
 public:
  // The page at a path, as in "/api/runs"; nothing where there is none.
  using Answer = std::function<std::optional<PageAnswer>(const std::string& path)>;

  PageServer(std::uint16_t port, Answer answer);  // Port 0 takes a free one. Throws NetError.
  ~PageServer();                                  // Once what it is answering is answered.
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  std::string address() const;  // With the key.

 private:
  struct Http;
  std::unique_ptr<Http> http_;
};

}  // namespace hocket
