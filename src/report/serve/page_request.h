#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hocket {

// What of an HTTP request decides whether it is answered; what it did not say is empty.
struct PageRequest {
  std::string method{};
  std::string host{};           // The header.
  std::string query_key{};      // ?key=
  std::string authorization{};  // The header, as in "Bearer KEY".
  std::string cookie{};         // The header.
  bool has_range = false;       // It asks for parts.
};

// Why a request is not answered: a status of HTTP and one line.
struct PageRefusal {
  int status = 0;
  std::string why;
};

// Nothing when it may be answered: it only reads, names this machine as its host (else a foreign page could
// read along by having its name point here), and shows `key`, in the query, as a bearer or in the cookie
// `cookie_name`. Keys are compared in constant time.
std::optional<PageRefusal> find_refusal(const PageRequest& request, std::string_view key,
                                        std::string_view cookie_name);

}  // namespace hocket
