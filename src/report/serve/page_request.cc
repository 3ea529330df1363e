#include "report/serve/page_request.h"

#include <openssl/crypto.h>

#include <algorithm>

namespace hocket {
namespace {

// The host without its port: behind a tunnel the port is another one.
bool is_this_machine(std::string_view host) {
  const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  if (bracket == std::string_view::npos) return false;
  const std::size_t colon = std::min(host.find(':', bracket), host.size());
  const std::string_view name = host.substr(0, colon), port = host.substr(colon);
  if (port.find_first_not_of("0123456789", 1) != std::string_view::npos) return false;
  return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

bool is_equal(std::string_view given, std::string_view key) {
  return given.size() == key.size() && CRYPTO_memcmp(given.data(), key.data(), key.size()) == 0;
}

bool is_bearer(std::string_view header, std::string_view key) {
  constexpr std::string_view kBearer = "Bearer ";
  return header.starts_with(kBearer) && is_equal(header.substr(kBearer.size()), key);
}

// "a=1; b=2"
bool is_in_cookie(std::string_view header, std::string_view name, std::string_view key) {
  while (!header.empty()) {
    const std::size_t end = std::min(header.find(';'), header.size());
    std::string_view pair = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    const std::size_t equals = pair.find('=');
    if (equals == name.size() && pair.starts_with(name) && is_equal(pair.substr(equals + 1), key))
      return true;
  }
  return false;
}

}  // namespace

std::optional<PageRefusal> find_refusal(const PageRequest& request, std::string_view key,
                                        std::string_view cookie_name) {
  if (request.method != "GET" && request.method != "HEAD")
    return PageRefusal{405, "this page can only be read: GET or HEAD"};
  if (!is_this_machine(request.host)) return PageRefusal{403, "this page is only at 127.0.0.1 and localhost"};
  if (!is_equal(request.query_key, key) && !is_bearer(request.authorization, key) &&
      !is_in_cookie(request.cookie, cookie_name, key))
    return PageRefusal{403, "open the address that hocket serve printed, with its key"};
  if (request.has_range) return PageRefusal{416, "there are no parts of this page"};
  return std::nullopt;
}

}  // namespace hocket
