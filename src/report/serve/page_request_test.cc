#include "report/serve/page_request.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

int status_of(const PageRequest& request) {
  const auto refusal = find_refusal(request, "secret", "hocket-80");
  return refusal ? refusal->status : 200;
}

PageRequest good() { return {.method = "GET", .host = "127.0.0.1:80", .query_key = "secret"}; }

TEST(PageRequest, OnlyReads) {
  for (const char* method : {"GET", "HEAD"}) {
    PageRequest request = good();
    request.method = method;
    EXPECT_EQ(status_of(request), 200) << method;
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "get", ""}) {
    PageRequest request = good();
    request.method = method;
    EXPECT_EQ(status_of(request), 405) << method;
  }
  PageRequest parts = good();
  parts.has_range = true;
  EXPECT_EQ(status_of(parts), 416);
}

TEST(PageRequest, NamesThisMachine) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:8080", "localhost", "localhost:1", "[::1]", "[::1]:80"}) {
    PageRequest request = good();
    request.host = host;
    EXPECT_EQ(status_of(request), 200) << host;
  }
  for (const char* host :
       {"", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil", "127.0.0.1:80:80",
        "127.0.0.1:x", "127.0.0.1@evil", "[::1", "[::1]x", "::1", "0.0.0.0", ":80", "127.0.0.1 evil"}) {
    PageRequest request = good();
    request.host = host;
    EXPECT_EQ(status_of(request), 403) << host;
  }
}

TEST(PageRequest, ShowsTheKeyInOneOfThreePlaces) {
  const PageRequest none{.method = "GET", .host = "localhost"};
  EXPECT_EQ(status_of(none), 403);
  PageRequest request = none;
  request.authorization = "Bearer secret";
  EXPECT_EQ(status_of(request), 200);
  for (const char* cookie :
       {"hocket-80=secret", "a=b; hocket-80=secret", "hocket-80=old;hocket-80=secret; c=d"}) {
    request = none;
    request.cookie = cookie;
    EXPECT_EQ(status_of(request), 200) << cookie;
  }
}

TEST(PageRequest, AWrongKeyIsNone) {
  const PageRequest none{.method = "GET", .host = "localhost"};
  for (const char* key : {"", "s", "secre", "secret1", "Secret", "secreT"}) {
    PageRequest request = none;
    request.query_key = key;
    EXPECT_EQ(status_of(request), 403) << key;
    request.authorization = std::string("Bearer ") + key;
    EXPECT_EQ(status_of(request), 403) << key;
    request.cookie = std::string("hocket-80=") + key;
    EXPECT_EQ(status_of(request), 403) << key;
  }
  for (const char* cookie :
       {"hocket-81=secret", "hocket-80", "secret", "xhocket-80=secret", "; ; =secret", ";"}) {
    PageRequest request = none;
    request.cookie = cookie;
    EXPECT_EQ(status_of(request), 403) << cookie;
  }
  PageRequest basic = none;
  basic.authorization = "Basic secret";
  EXPECT_EQ(status_of(basic), 403);
}

}  // namespace
}  // namespace hocket
