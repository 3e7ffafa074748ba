// TCP connections that carry short lines of text, by which ranks report to each other that they are alive.
// Nothing here ever waits for the other end, but LineSocket::to(). Not thread-safe.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace bicrl {

// One end of a connection; owns it.
class LineSocket {
 public:
  explicit LineSocket(int descriptor);
  ~LineSocket();
  LineSocket(LineSocket&& other) noexcept;
  LineSocket& operator=(LineSocket&& other) noexcept;

  // Connects to "a.b.c.d:port"; nullopt if nobody answers there in time.
  static std::optional<LineSocket> to(const std::string& address, double limit_s);

  // A line that cannot leave at once, as the other end has read nothing for long, is dropped.
  void send(const std::string& line);
  // The whole lines that have come since the last call.
  std::vector<std::string> receive();
  // The other end has closed the connection, or its process is gone.
  bool ended() const { return ended_; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  bool ended_ = false;
  std::string partial_;
};

// Takes connections at a free port; owns it.
class LineListener {
 public:
  // On loopback, or on all interfaces of this host. Throws Error with the system's reason.
  explicit LineListener(bool loopback_only);
  ~LineListener();
  LineListener(const LineListener&) = delete;
  LineListener& operator=(const LineListener&) = delete;

  // "address:port" of each interface on which it listens, loopback first.
  std::vector<std::string> addresses() const;
  // A connection that has come; nullopt if none has.
  std::optional<LineSocket> accept();

 private:
  int descriptor_ = -1;
  bool loopback_only_;
};

}  // namespace bicrl
