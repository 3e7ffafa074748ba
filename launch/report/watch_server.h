// Serves the page of runs to browsers of this machine while the runs go on: read-only, on the loopback
// interface, under an address that holds a secret. The only file that knows the HTTP library is its source.
#pragma once
#include <functional>
#include <memory>
#include <string>

namespace bicrl {

struct WatchedPage {
  std::string version;  // of the files that it is made of
  std::string html;
};

struct WatchSource {
  // Makes the page; called by one thread at a time. May throw Error.
  std::function<WatchedPage()> page;
  // Of the files as they are now; cheap, from any thread.
  std::function<std::string()> version;
  std::string content_security_policy;
};

// Its threads end with it.
class WatchServer {
 public:
  // `port` 0: any that is free. Throws Error if it is taken.
  WatchServer(WatchSource source, int port);
  ~WatchServer();
  WatchServer(const WatchServer&) = delete;
  WatchServer& operator=(const WatchServer&) = delete;

  std::string address() const;  // "http://127.0.0.1:41234/SECRET/"

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bicrl
