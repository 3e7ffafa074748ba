#include "launch/report/watch_server.h"

#include <httplib.h>
#include <sys/random.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "common/error.h"
#include "launch/report/page_age.h"

namespace bicrl {
namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr int kThreads = 16;
constexpr int kMostListeners = 12;  // pages that wait for news, a thread each
constexpr auto kPause = std::chrono::milliseconds(500);
constexpr int kPausesPerSign = 20;  // after which a page that waits gets a sign of life

std::string secret() {
  unsigned char bytes[16];
  BICRL_CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes, "getrandom");
  std::string hex;
  for (const unsigned char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

// In a time that does not depend on where they differ.
bool equal_secrets(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

}  // namespace

struct WatchServer::State {
  WatchSource source;
  std::string token = secret();
  int port = 0;
  httplib::Server server;
  std::thread thread;
  std::atomic<bool> stops = false;
  std::atomic<int> listeners = 0;
  std::mutex mutex;  // of the page below
  WatchedPage page;
  std::chrono::steady_clock::time_point made{};
  std::chrono::steady_clock::duration making{};  // how long that took

  // Of the page: the files have changed and it is old enough. With the lock held.
  bool is_due() const {
    return page.html.empty() || (std::chrono::steady_clock::now() - made >= least_page_age(making) &&
                                 page.version != source.version());
  }

  // The page of the files as they are, or one that is a few seconds old.
  WatchedPage current_page() {
    const std::scoped_lock lock(mutex);
    if (is_due()) {
      const auto begin = std::chrono::steady_clock::now();
      page = source.page();
      made = std::chrono::steady_clock::now();
      making = made - begin;
    }
    return page;
  }

  // Whether a reader of the version `seen` would get a newer page now. Files that changed a moment ago are
  // not yet news: a reader that reloads would get the same page, and reload again.
  bool has_newer_page(const std::string& seen) {
    const std::scoped_lock lock(mutex);
    return page.version != seen || is_due();
  }

  // Names that another site could make lead here are no reason to answer: the Host header must be ours.
  bool is_for_us(const httplib::Request& request) const {
    const std::string host = request.get_header_value("Host");
    return request.get_header_value_count("Host") == 1 &&
           (host == concat(kHost, ":", port) || host == concat("localhost:", port));
  }

  httplib::Server::HandlerResponse check(const httplib::Request& request, httplib::Response& response) const {
    using Handled = httplib::Server::HandlerResponse;
    const auto refuse = [&](int status, const char* reason) {
      response.status = status;
      response.set_content(std::string(reason) + "\n", "text/plain");
      return Handled::Handled;
    };
    if (!is_for_us(request)) return refuse(403, "This server answers to its own address alone.");
    if (request.method != "GET" && request.method != "HEAD") return refuse(405, "This server is read-only.");
    const size_t end = request.path.find('/', 1);
    if (end == std::string::npos || !equal_secrets(request.path.substr(1, end - 1), token))
      return refuse(404, "The address has another secret.");
    return Handled::Unhandled;
  }

  void answer_page(httplib::Response& response) try {
    response.set_content(current_page().html, "text/html; charset=utf-8");
  } catch (const Error& error) {
    response.status = 500;
    response.set_content(std::string(error.what()) + "\n", "text/plain; charset=utf-8");
  }

  // Server-sent events: one, once there is a newer page than the one that asks.
  void answer_events(const httplib::Request& request, httplib::Response& response) {
    if (++listeners > kMostListeners) {
      --listeners;
      response.status = 503;
      response.set_content("Too many pages wait for news.\n", "text/plain");
      return;
    }
    const std::string seen = request.get_param_value("seen");
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, seen, pauses = 0](size_t, httplib::DataSink& sink) mutable {
          return send_news(seen, pauses, sink);
        },
        [this](bool) { --listeners; });
  }

  bool send_news(const std::string& seen, int& pauses, httplib::DataSink& sink) {
    const auto send = [&](const std::string& text) { return sink.write(text.data(), text.size()); };
    if (stops) {
      sink.done();
      return true;
    }
    if (has_newer_page(seen)) {
      const bool is_sent = send("event: changed\ndata: 1\n\n");
      sink.done();
      return is_sent;
    }
    std::this_thread::sleep_for(kPause);
    if (++pauses % kPausesPerSign == 0) return send(": waiting\n\n");
    return true;
  }
};

WatchServer::WatchServer(WatchSource source, int port) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.source = std::move(source);
  httplib::Server& server = state.server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // The library's own options let another server take the same port.
  server.set_socket_options([](int socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_payload_max_length(0);
  server.set_read_timeout(10, 0);
  server.set_default_headers(
      {{"Content-Security-Policy", state.source.content_security_policy + "; frame-ancestors 'none'"},
       {"X-Content-Type-Options", "nosniff"},
       {"X-Frame-Options", "DENY"},
       {"Referrer-Policy", "no-referrer"},
       {"Cross-Origin-Resource-Policy", "same-origin"},
       {"Cache-Control", "no-store"}});
  server.set_pre_routing_handler(
      [&state](const auto& request, auto& response) { return state.check(request, response); });
  server.Get("/[0-9a-f]+/", [&state](const auto&, auto& response) { state.answer_page(response); });
  server.Get("/[0-9a-f]+/events",
             [&state](const auto& request, auto& response) { state.answer_events(request, response); });
  state.port = port;
  if (port == 0)
    state.port = server.bind_to_any_port(kHost);
  else if (!server.bind_to_port(kHost, port))
    state.port = -1;
  if (state.port < 0)
    throw Error(concat("cannot listen on ", kHost, ":", port, ": the port is taken or not allowed"));
  state.thread = std::thread([&server] { server.listen_after_bind(); });
}

WatchServer::~WatchServer() {
  state_->stops = true;
  state_->server.stop();
  state_->thread.join();
}

std::string WatchServer::address() const {
  return concat("http://", kHost, ":", state_->port, "/", state_->token, "/");
}

}  // namespace bicrl
