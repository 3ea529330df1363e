#include "report/serve/page_server.h"

#include <fmt/format.h>

#include <thread>

#include "base/error.h"
#include "net/job_key.h"
#include "report/serve/bounded_stream.h"
#include "report/serve/page_request.h"

namespace hocket {
namespace {

// More may wait: a connection that says nothing is closed after BoundedStream::kReadTime.
constexpr std::size_t kThreads = 64;

PageRequest request_of(const httplib::Request& request) {
  const auto count = [&](const char* name) { return request.get_header_value_count(name); };
  return {.method = request.method,
          .host = count("Host") == 1 ? request.get_header_value("Host") : "",
          .query_key = request.get_param_value("key"),
          .authorization = request.get_header_value("Authorization"),
          .cookie = request.get_header_value("Cookie"),
          .has_range = !request.ranges.empty()};
}

void refuse(httplib::Response& response, const PageRefusal& refusal) {
  response.status = refusal.status;
  response.set_content(refusal.why + '\n', "text/plain; charset=utf-8");
}

// What stands in every answer. A page's own policy, in it, allows yet less: only its own scripts.
const httplib::Headers kHeaders = {{"Content-Security-Policy",
                                    "default-src 'none'; script-src 'unsafe-inline'; style-src "
                                    "'unsafe-inline'; connect-src 'self'; base-uri "
                                    "'none'; form-action 'none'; frame-ancestors 'none'"},
                                   {"Cache-Control", "no-store"},
                                   {"Cross-Origin-Resource-Policy", "same-origin"},
                                   {"Referrer-Policy", "no-referrer"},
                                   {"X-Content-Type-Options", "nosniff"}};

}  // namespace

// httplib reads and writes HTTP; which bytes, for how long, and what is answered is ours.
struct PageServer::Http final : httplib::Server {
  Http(std::uint16_t wanted, Answer to) : answer(std::move(to)) {
    FileDescriptor listening = listen_at({"127.0.0.1", wanted});
    port = local_endpoint(listening.get()).port;
    cookie = fmt::format("hocket-{}", port);
    std::array<std::byte, 32> random{};
    fill_random(random);
    key = to_hex(random);

    new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    set_idle_interval(0, 50'000);  // How soon it notices that it is to end.
    set_default_headers(kHeaders);
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      respond(request, response);
      return HandlerResponse::Handled;
    });
    svr_sock_ = listening.release();
    thread = std::jthread([this] { listen_after_bind(); });
    while (!is_running()) std::this_thread::yield();
  }

  ~Http() override { stop(); }

  bool process_and_close_socket(socket_t socket) override {
    BoundedStream stream{FileDescriptor(socket)};
    bool is_closed = false;
    return process_request(stream, true, is_closed, nullptr);
  }

  void respond(const httplib::Request& request, httplib::Response& response) const {
    if (const auto refusal = find_refusal(request_of(request), key, cookie))
      return refuse(response, *refusal);
    try {
      const auto page = answer(request.path);
      if (!page) return refuse(response, {404, "there is no such page"});
      response.status = 200;
      response.set_content(page->content, page->content_type);
      response.set_header("Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", cookie, key));
    } catch (const std::exception& error) {
      refuse(response, {503, error.what()});
    }
  }

  Answer answer;
  std::uint16_t port = 0;
  std::string cookie;
  std::string key;
  std::jthread thread;
};

PageServer::PageServer(std::uint16_t port, Answer answer)
    : http_(std::make_unique<Http>(port, std::move(answer))) {}

PageServer::~PageServer() = default;

std::string PageServer::address() const {
  return fmt::format("http://127.0.0.1:{}/?key={}", http_->port, http_->key);
}

}  // namespace hocket
