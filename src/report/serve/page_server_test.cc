#include "report/serve/page_server.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include "base/error.h"
#include "net/socket.h"

namespace hocket {
namespace {

class PageServerTest : public testing::Test {
 protected:
  PageServerTest()
      : server_(0,
                [](const std::string& path) -> std::optional<PageAnswer> {
                  if (path == "/bad") throw DataError("it is torn");
                  if (path == "/") return PageAnswer{"text/html", "<p>hello"};
                  return std::nullopt;
                }),
        client_(server_.address().substr(0, server_.address().find("/?"))),
        key_(server_.address().substr(server_.address().find("key=") + 4)) {}

  PageServer server_;
  httplib::Client client_;
  std::string key_;
};

TEST_F(PageServerTest, AnswersWhoShowsTheKeyAndThenTheCookie) {
  EXPECT_EQ(key_.size(), 64U);
  const auto first = client_.Get("/?key=" + key_);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(first->body, "<p>hello");
  EXPECT_NE(first->get_header_value("Content-Security-Policy").find("default-src 'none'"), std::string::npos);
  const std::string cookie = first->get_header_value("Set-Cookie");
  EXPECT_NE(cookie.find("HttpOnly; SameSite=Strict"), std::string::npos);
  EXPECT_EQ(client_.Get("/", {{"Cookie", cookie.substr(0, cookie.find(';'))}})->status, 200);
  EXPECT_EQ(client_.Get("/", {{"Authorization", "Bearer " + key_}})->status, 200);
  const auto head = client_.Head("/?key=" + key_);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->body, "");
}

TEST_F(PageServerTest, RefusesEveryoneElse) {
  EXPECT_EQ(client_.Get("/")->status, 403);
  EXPECT_EQ(client_.Get("/?key=" + std::string(64, '0'))->status, 403);
  EXPECT_EQ(client_.Get("/nowhere")->status, 403);
  const auto refused = client_.Get("/?key=" + key_, {{"Host", "evil.example"}});
  EXPECT_EQ(refused->status, 403);
  EXPECT_FALSE(refused->has_header("Set-Cookie"));
  EXPECT_EQ(client_.Post("/?key=" + key_, "x=1", "text/plain")->status, 405);
  EXPECT_EQ(client_.Get("/?key=" + key_, {{"Range", "bytes=0-1,0-1"}})->status, 416);
}

TEST_F(PageServerTest, WhatIsNoPageIsNoFileEither) {
  for (const char* path :
       {"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api", "/nowhere"})
    EXPECT_EQ(client_.Get(std::string(path) + "?key=" + key_)->status, 404) << path;
  const auto failed = client_.Get("/bad?key=" + key_);
  EXPECT_EQ(failed->status, 503);
  EXPECT_EQ(failed->body, "it is torn\n");
}

TEST_F(PageServerTest, ARequestIsShort) {
  const auto is_answered = [](const httplib::Result& result) { return result && result->status == 200; };
  EXPECT_TRUE(is_answered(client_.Get("/?key=" + key_ + "&x=" + std::string(2'000, 'x'))));
  EXPECT_FALSE(is_answered(client_.Get("/?key=" + key_ + "&x=" + std::string(20'000, 'x'))));
  httplib::Headers many;
  for (int i = 0; i < 40; ++i) many.emplace("X-" + std::to_string(i), std::string(1000, 'x'));
  EXPECT_FALSE(is_answered(client_.Get("/?key=" + key_, many)));
}

TEST_F(PageServerTest, APortThatIsTakenIsAnError) {
  const auto port = parse_endpoint(server_.address().substr(7, server_.address().find("/?") - 7)).port;
  EXPECT_THROW(PageServer second(port, [](const std::string&) { return std::nullopt; }), NetError);
}

}  // namespace
}  // namespace hocket
