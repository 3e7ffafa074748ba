#include "trainer/ranks/heartbeat.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/host_name.h"
#include "common/log.h"
#include "trainer/ranks/document_exchange.h"
#include "trainer/ranks/line_socket.h"

namespace bicrl {
namespace {

constexpr double kBeat_s = 1;
constexpr int kPoll_ms = 200;
constexpr double kConnect_s = 5, kGather_s = 30;
// Who dies of an error has reported it by then, and its launcher has begun to end the others.
constexpr double kLastWords_s = 3;
// Of the limit: silence that is reported. A launcher that gives a host up may end the ranks before the limit.
constexpr double kReported = 0.25;

const std::string kBeatLine = "beat", kByeLine = "bye", kLostLine = "lost ", kHelloLine = "hello ";

// What ranks know of each other.
struct RankPlace {
  std::string host;
  int64_t pid = 0;
  std::vector<std::string> addresses;  // of rank 0
  std::string secret;                  // of rank 0: what its peers say first
};

nlohmann::json to_json(const RankPlace& place) {
  return {{"host", place.host}, {"pid", place.pid}, {"addresses", place.addresses}, {"secret", place.secret}};
}

RankPlace place_from_json(const nlohmann::json& json) {
  return {json.at("host"), json.at("pid"), json.at("addresses"), json.at("secret")};
}

std::string name_of(int rank, const RankPlace& place) {
  return concat("rank ", rank, " (host ", place.host, ", process ", place.pid, ")");
}

std::string fresh_secret() {
  std::random_device random;
  return concat(random(), "-", random(), "-", random(), "-", random());
}

struct Peer {
  std::string name;
  LineSocket socket;
  Stopwatch silence;
  bool over = false;      // it said goodbye
  bool reported = false;  // as silent
};

LineSocket reach_rank_zero(const RankPlace& zero, const std::string& my_host, int rank) {
  for (const std::string& address : zero.addresses) {
    // Loopback leads to rank 0 only on its own host.
    if (address.starts_with("127.") != (zero.host == my_host)) continue;
    if (auto socket = LineSocket::to(address, kConnect_s)) {
      socket->send(concat(kHelloLine, zero.secret, " ", rank));
      return std::move(*socket);
    }
  }
  std::string tried;
  for (const std::string& address : zero.addresses) tried += (tried.empty() ? "" : ", ") + address;
  throw Error(concat("rank ", rank, " on host ", my_host, " cannot reach rank 0 on host ", zero.host, " (",
                     tried, "): TCP between the hosts must be open, or trainer.heartbeat_limit_s=0"));
}

// The connections of ranks 1 to n - 1, in this order.
std::vector<LineSocket> gather(LineListener& listener, const std::string& secret, int ranks) {
  std::vector<std::optional<LineSocket>> found(static_cast<size_t>(ranks));
  std::vector<LineSocket> strangers;  // or ranks whose first line has not come yet
  const Stopwatch watch;
  int missing = ranks - 1;
  while (missing > 0) {
    if (watch.seconds() > kGather_s)
      throw Error(concat("rank 0 waited ", kGather_s, " s for the heartbeat of ", missing, " ranks"));
    while (auto socket = listener.accept()) strangers.push_back(std::move(*socket));
    for (LineSocket& socket : strangers)
      for (const std::string& line : socket.receive()) {
        const std::string expected = kHelloLine + secret + " ";
        if (!line.starts_with(expected)) continue;
        const auto rank = static_cast<size_t>(std::stoul(line.substr(expected.size())));
        if (rank == 0 || rank >= found.size() || found[rank]) continue;
        found[rank] = std::move(socket);
        --missing;
        break;
      }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::vector<LineSocket> sockets;
  for (size_t rank = 1; rank < found.size(); ++rank) sockets.push_back(std::move(*found[rank]));
  return sockets;
}

}  // namespace

class Heartbeat::Watch {
 public:
  Watch(std::vector<Peer> peers, double limit_s, Lost lost)
      : peers_(std::move(peers)),
        limit_s_(limit_s),
        lost_(std::move(lost)),
        thread_([this](std::stop_token stop) { run(stop); }) {}

  ~Watch() {
    thread_.request_stop();
    thread_.join();
    for (Peer& peer : peers_) peer.socket.send(kByeLine);
  }

 private:
  void run(const std::stop_token& stop) {
    Stopwatch since_beat;
    while (!stop.stop_requested()) {
      wait();
      for (Peer& peer : peers_)
        if (!peer.over) listen_to(peer);
      if (since_beat.seconds() < kBeat_s) continue;
      since_beat.restart();
      for (Peer& peer : peers_) peer.socket.send(kBeatLine);
    }
  }

  // An ended connection is always ready, so those are left out.
  void wait() {
    std::vector<pollfd> ready;
    for (const Peer& peer : peers_)
      if (!peer.over && !peer.socket.ended()) ready.push_back({peer.socket.descriptor(), POLLIN, 0});
    poll(ready.data(), ready.size(), kPoll_ms);
  }

  void listen_to(Peer& peer) {
    for (const std::string& line : peer.socket.receive()) {
      peer.silence.restart();
      if (std::exchange(peer.reported, false)) log_info(peer.name, " is heard of again");
      if (line == kByeLine) peer.over = true;
      if (line.starts_with(kLostLine)) return report(line.substr(kLostLine.size()));
    }
    if (peer.over) return;
    if (peer.socket.ended() && peer.silence.seconds() > kLastWords_s)
      report(concat(peer.name, " is gone: its connection ended without a goodbye"));
    else if (peer.silence.seconds() > limit_s_)
      report(concat(peer.name, " has not been heard of for ", std::lround(peer.silence.seconds()),
                    " s: it is stopped, or cut off"));
    else if (!peer.reported && peer.silence.seconds() > kReported * limit_s_)
      report_silence(peer);
  }

  void report_silence(Peer& peer) {
    peer.reported = true;
    log_warning(peer.name, " has not been heard of for ", std::lround(peer.silence.seconds()),
                " s: it is stopped, or cut off; after ", limit_s_, " s the run ends");
  }

  void report(const std::string& reason) {
    if (reported_) return;
    reported_ = true;
    for (Peer& peer : peers_) peer.socket.send(kLostLine + reason);
    lost_(reason);
  }

  std::vector<Peer> peers_;
  const double limit_s_;
  const Lost lost_;
  bool reported_ = false;
  std::jthread thread_;  // last: it uses the others
};

Heartbeat::Heartbeat(ControlPlane& control, double limit_s, Lost lost) {
  if (control.size() == 1) return;
  const bool first = control.rank() == 0;
  std::unique_ptr<LineListener> listener;
  on_rank_zero(control, [&] { listener = std::make_unique<LineListener>(control.hosts() == 1); });
  RankPlace mine{host_name(), getpid(), {}, {}};
  if (first) {
    mine.addresses = listener->addresses();
    mine.secret = fresh_secret();
  }
  std::vector<RankPlace> places;
  for (const nlohmann::json& place : exchange_documents(control, to_json(mine)))
    places.push_back(place_from_json(place));
  std::vector<LineSocket> sockets;
  on_all_ranks(control, [&] {
    if (first)
      sockets = gather(*listener, mine.secret, control.size());
    else
      sockets.push_back(reach_rank_zero(places.front(), mine.host, control.rank()));
  });
  std::vector<Peer> peers;
  for (size_t i = 0; i < sockets.size(); ++i) {
    const int rank = first ? static_cast<int>(i) + 1 : 0;
    peers.push_back({name_of(rank, places[static_cast<size_t>(rank)]), std::move(sockets[i]), {}, false});
  }
  watch_ = std::make_unique<Watch>(std::move(peers), limit_s, std::move(lost));
}

Heartbeat::~Heartbeat() = default;

}  // namespace bicrl
