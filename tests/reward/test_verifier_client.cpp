#include "reward/client/verifier_client.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "common/hash.h"
#include "common/rng.h"
#include "tests/reward/fake_verifier.h"

using namespace bicrl;
using namespace std::chrono_literals;
using bicrl::testing::FakeVerifier;
using Catch::Matchers::ContainsSubstring;
namespace wire = bicrl::verifier::v1;

namespace {

constexpr auto kPatience = 120s;  // far beyond anything expected: a test that waits this long has failed

VerifierClientOptions options_for(const std::vector<std::string>& addresses) {
  VerifierClientOptions options;
  options.addresses = addresses;
  options.backoff_s = 0.01;
  options.max_backoff_s = 0.05;
  return options;
}

VerificationRequest request(const std::string& id, const std::string& program) {
  VerificationRequest r;
  r.request_id = id;
  r.task_id = "task";
  r.pytorch_code = "class Model: ...";
  r.program = program;
  return r;
}

Verdict verdict_of(VerifierClient& client) {
  auto verdict = client.next(kPatience);
  INFO(client.waiting_for());
  REQUIRE(verdict.has_value());
  return *verdict;
}

Verdict verify(VerifierClient& client, const std::string& id, const std::string& program) {
  client.submit(request(id, program));
  return verdict_of(client);
}

bool comes(const std::function<bool()>& condition) {
  const auto start = std::chrono::steady_clock::now();
  while (!condition()) {
    if (std::chrono::steady_clock::now() - start >= kPatience) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

void wait_until(const std::function<bool()>& condition) { REQUIRE(comes(condition)); }

// On a server's thread. Assertions are the test's own thread's, whose patience ends with this one's.
void hold_until(const std::function<bool()>& condition) { (void)comes(condition); }

// A port on which nobody listens, or (accepting) one that takes connections and never answers.
class DeafPort {
 public:
  explicit DeafPort(bool accepting) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0);
    socklen_t size = sizeof place;
    REQUIRE(getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &size) == 0);
    if (accepting) REQUIRE(listen(socket_, 16) == 0);
    address_ = concat("127.0.0.1:", ntohs(place.sin_port));
  }
  ~DeafPort() { close(socket_); }
  const std::string& address() const { return address_; }

 private:
  int socket_;
  std::string address_;
};

// A port that takes connections and closes each without a word, as a server does that is dying.
class ClosingPort {
 public:
  explicit ClosingPort(const std::string& address) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    const int on = 1;
    REQUIRE(setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0);
    REQUIRE(listen(socket_, 16) == 0);
    thread_ = std::thread([this] {
      for (int fd; (fd = accept(socket_, nullptr, nullptr)) >= 0; close(fd)) {
        char preface[64];
        [[maybe_unused]] const ssize_t count = read(fd, preface, sizeof preface);
      }
    });
  }
  ~ClosingPort() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
  }

 private:
  int socket_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("a program that no message holds is refused without a call") {
  FakeVerifier server([](const auto&, int, auto& reply) {
    reply.set_outcome(wire::OUTCOME_CANDIDATE_FAULT);
    return grpc::Status::OK;
  });
  VerifierClient client(options_for({server.address()}));
  const Verdict verdict = verify(client, "long", std::string(20 << 20, 'x'));
  CHECK(verdict.outcome == Outcome::kCandidateFault);
  CHECK(verdict.fault_class == "extract");
  CHECK_THAT(verdict.diagnostics, ContainsSubstring("20971520 bytes"));
  CHECK(client.counters().unique == 0);
}

TEST_CASE("a verdict arrives with everything the server said") {
  FakeVerifier::Request got;
  FakeVerifier server([&](const auto& asked, int, auto& reply) {
    got = asked;
    reply.set_outcome(wire::OUTCOME_CANDIDATE_FAULT);
    reply.set_fault_class("compile");
    reply.set_reached("compile");
    reply.mutable_times()->set_eager_ms(4);
    reply.mutable_times()->set_candidate_ms(2);
    reply.set_diagnostics(std::string(5 << 20, 'x'));  // above gRPC's default limit
    return grpc::Status::OK;
  });
  auto options = options_for({server.address()});
  options.protocol = {.tolerance = TolerancePolicy::kTf32, .trials = 5, .measure_time = true};
  VerifierClient client(options);
  const Verdict v = verify(client, "a", "p");
  CHECK(got.task().id() == "task");
  CHECK(got.task().pytorch_code() == "class Model: ...");
  CHECK(got.protocol().tolerance() == "tf32");
  CHECK(got.protocol().trials() == 5);
  CHECK(got.protocol().measure_time());
  CHECK_FALSE(got.bypass_cache());
  CHECK(v.request_id == "a");
  CHECK(v.outcome == Outcome::kCandidateFault);
  CHECK(v.fault_class == "compile");
  CHECK(v.speedup() == 2);
  CHECK(v.diagnostics.size() == 5 << 20);
  CHECK_FALSE(v.cached);
  CHECK(client.pending() == 0);
  CHECK_FALSE(client.next(1ms).has_value());
}

TEST_CASE("verdicts come in the order in which they are ready") {
  std::atomic<bool> release{false};
  FakeVerifier server([&](const auto& asked, int call, auto& reply) {
    if (asked.program() == "slow") hold_until([&] { return release.load(); });
    return FakeVerifier::answer_correct(asked, call, reply);
  });
  VerifierClient client(options_for({server.address()}));
  client.submit(request("1", "slow"));
  client.submit(request("2", "fast"));
  CHECK(verdict_of(client).request_id == "2");
  CHECK(client.pending() == 1);
  CHECK_THAT(client.waiting_for(), ContainsSubstring("1 pending, 0 ready, 1 at " + server.address()));
  CHECK_FALSE(client.next(5ms).has_value());
  release = true;
  CHECK(verdict_of(client).request_id == "1");
  CHECK(client.counters().waited_s > 0);
}

TEST_CASE("a server that is unavailable at first is asked again") {
  FakeVerifier server([](const auto& asked, int call, auto& reply) {
    if (call < 3) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "starting");
    return FakeVerifier::answer_correct(asked, call, reply);
  });
  VerifierClient client(options_for({server.address()}));
  CHECK(verify(client, "a", "p").correct);
  CHECK(server.calls() == 3);
  CHECK(client.counters().retried == 2);
  CHECK(client.counters().infrastructure == 0);
}

TEST_CASE("a server without room is waited for, beyond the attempts, and others are asked meanwhile") {
  const auto busy_until = [](int calls) {
    return FakeVerifier::Answer([calls](const auto& asked, int call, auto& reply) {
      if (call < calls) return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
      return FakeVerifier::answer_correct(asked, call, reply);
    });
  };
  FakeVerifier full(busy_until(8));
  auto options = options_for({full.address()});
  options.max_attempts = 2;
  {
    VerifierClient client(options);
    CHECK(verify(client, "a", "p").correct);
    CHECK(full.calls() == 8);
    CHECK(client.counters().infrastructure == 0);
  }
  FakeVerifier always_full(busy_until(1 << 30)), other;
  options.addresses = {always_full.address(), other.address()};
  options.deadline_s = 60;
  VerifierClient client(options);
  for (int i = 0; i < 4; ++i) CHECK(verify(client, std::to_string(i), concat("q", i)).correct);
  CHECK(other.calls() == 4);
  // Its time is bounded all the same; a busy machine may spend it within a call.
  options.addresses = {always_full.address()};
  options.deadline_s = 0.3;
  VerifierClient impatient(options);
  const Verdict v = verify(impatient, "a", "r");
  CHECK(v.outcome == Outcome::kInfrastructure);
  CHECK_THAT(v.diagnostics, ContainsSubstring("busy (full)") || ContainsSubstring("no answer in time"));
}

TEST_CASE("without any server there is a masked verdict, not an exception") {
  const DeafPort port(false);
  auto options = options_for({port.address()});
  options.max_attempts = 3;
  VerifierClient client(options);
  const Verdict v = verify(client, "a", "p");
  CHECK(v.request_id == "a");
  CHECK(v.outcome == Outcome::kInfrastructure);
  CHECK_FALSE(v.correct);
  CHECK_THAT(v.diagnostics, ContainsSubstring("no verdict after 3 calls in ") &&
                                ContainsSubstring(port.address() + ": unavailable"));
  CHECK(client.counters().infrastructure == 1);
}

TEST_CASE("a server that never answers costs one attempt, the deadline ends the request") {
  const DeafPort deaf(true);
  SECTION("another server answers") {
    FakeVerifier server;
    auto options = options_for({deaf.address(), server.address()});
    options.attempt_s = 0.2;
    options.max_attempts = 100000;  // on a busy machine the other one may take longer, too
    VerifierClient client(options);
    for (int i = 0; i < 4; ++i) client.submit(request(std::to_string(i), concat("p", i)));
    for (int i = 0; i < 4; ++i) CHECK(verdict_of(client).correct);
  }
  SECTION("no other server, and the attempts are used up") {
    auto options = options_for({deaf.address()});
    options.attempt_s = 0.1;
    options.max_attempts = 3;
    VerifierClient client(options);
    const Verdict v = verify(client, "a", "p");
    CHECK(v.outcome == Outcome::kInfrastructure);
    CHECK_THAT(v.diagnostics, ContainsSubstring("no answer in time") || ContainsSubstring("unavailable"));
    CHECK(client.counters().retried == 2);
  }
  SECTION("no other server, and the time is used up") {
    auto options = options_for({deaf.address()});
    options.attempt_s = 0.1;
    options.deadline_s = 0.35;
    options.max_attempts = 100000;
    VerifierClient client(options);
    const Verdict v = verify(client, "a", "p");
    CHECK(v.outcome == Outcome::kInfrastructure);
    CHECK_THAT(v.diagnostics, ContainsSubstring("no verdict after"));
  }
}

TEST_CASE("time spent waiting for a free call does not count against the deadline") {
  FakeVerifier server([](const auto& asked, int call, auto& reply) {
    std::this_thread::sleep_for(100ms);
    return FakeVerifier::answer_correct(asked, call, reply);
  });
  auto options = options_for({server.address()});
  options.max_in_flight = 1;
  options.deadline_s = 3;  // thirty times what one takes; the forty take longer together
  options.attempt_s = 3;
  VerifierClient client(options);
  for (int i = 0; i < 40; ++i) client.submit(request(std::to_string(i), concat("p", i)));
  for (int i = 0; i < 40; ++i) CHECK(verdict_of(client).correct);
}

TEST_CASE("a server that dies under a call and comes back loses nothing") {
  std::atomic<bool> first{true};
  FakeVerifier server([&](const auto& asked, int call, auto& reply) {
    if (first) hold_until([] { return FakeVerifier::is_cancelled(); });
    return FakeVerifier::answer_correct(asked, call, reply);
  });
  auto options = options_for({server.address()});
  options.max_attempts = 100000;
  VerifierClient client(options);
  for (int i = 0; i < 8; ++i) client.submit(request(std::to_string(i), concat("p", i)));
  wait_until([&] { return server.calls() >= 4; });
  server.stop();
  first = false;
  server.start();
  std::set<std::string> ids;
  for (int i = 0; i < 8; ++i) {
    const Verdict v = verdict_of(client);
    CHECK(v.correct);
    ids.insert(v.request_id);
  }
  CHECK(ids.size() == 8);
  CHECK(client.counters().retried >= 4);
}

TEST_CASE("a server that answered before and closes connections while it dies is asked again") {
  FakeVerifier server;
  auto options = options_for({server.address()});
  options.max_attempts = 100000;
  VerifierClient client(options);
  SECTION("with a verdict") { CHECK(verify(client, "before", "p").correct); }
  SECTION("with its description") { CHECK(client.describe(kPatience).at(0).ok()); }
  server.stop();
  std::optional<Verdict> early;
  {
    const ClosingPort dying(server.address());
    client.submit(request("during", "q"));
    wait_until([&] { return (early = client.next(10ms)).has_value() || client.counters().retried >= 2; });
  }
  INFO((early ? early->diagnostics : ""));
  CHECK_FALSE(early.has_value());
  server.start();
  if (!early) CHECK(verdict_of(client).correct);
}

TEST_CASE("mismatch of TLS is named where a server that answered comes back with TLS") {
  FakeVerifier server;
  auto options = options_for({server.address()});
  options.max_attempts = 100000;
  options.deadline_s = 60;
  VerifierClient client(options);
  CHECK(verify(client, "before", "p").correct);
  server.stop();
  client.submit(request("after", "q"));
  wait_until([&] { return client.waiting_for().find("Connection refused") != std::string::npos; });
  const ClosingPort with_tls(server.address());
  CHECK_THAT(verdict_of(client).diagnostics, ContainsSubstring("speaks TLS"));
}

TEST_CASE("TLS of a server that answered is refused for its certificate alone") {
  std::string refusal;
  FakeVerifier server([&](const auto& asked, int call, auto& reply) {
    if (asked.program() == "p" || call == 3) return FakeVerifier::answer_correct(asked, call, reply);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, refusal);
  });
  VerifierClient client(options_for({server.address()}));
  CHECK(verify(client, "before", "p").correct);
  SECTION("its certificate was replaced") {
    refusal = "Ssl handshake failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate verify failed";
    CHECK_THAT(verify(client, "after", "q").diagnostics,
               ContainsSubstring("after 1 call in") && ContainsSubstring(refusal));
  }
  SECTION("it ends within a handshake") {
    refusal = "Ssl handshake failed: TSI_PROTOCOL_FAILURE";
    CHECK(verify(client, "after", "q").correct);
  }
}

TEST_CASE("an infrastructure outcome is asked for again, ends masked, and is not remembered") {
  std::atomic<bool> broken{true};
  FakeVerifier server([&](const auto& asked, int call, auto& reply) {
    if (!broken) return FakeVerifier::answer_correct(asked, call, reply);
    reply.set_outcome(wire::OUTCOME_INFRASTRUCTURE);
    reply.set_reached("record");
    reply.set_diagnostics("no worker");
    return grpc::Status::OK;
  });
  auto options = options_for({server.address()});
  options.max_attempts = 3;
  VerifierClient client(options);
  const Verdict v = verify(client, "a", "p");
  CHECK(v.outcome == Outcome::kInfrastructure);
  CHECK(v.reached == "record");
  CHECK_THAT(v.diagnostics, ContainsSubstring("after 3 calls") && ContainsSubstring("no worker"));
  CHECK(server.calls() == 3);
  broken = false;
  const Verdict again = verify(client, "b", "p");
  CHECK(again.correct);
  CHECK_FALSE(again.cached);
}

TEST_CASE("replies to another request or without an outcome are not believed") {
  SECTION("wrong id once") {
    FakeVerifier server([](const auto& asked, int call, auto& reply) {
      if (call == 1) reply.set_request_id("somebody else");
      return FakeVerifier::answer_correct(asked, call, reply);
    });
    VerifierClient client(options_for({server.address()}));
    CHECK(verify(client, "a", "p").request_id == "a");
    CHECK(server.calls() == 2);
  }
  SECTION("every reply has the id of the first request") {
    FakeVerifier server([](const auto& asked, int call, auto& reply) {
      reply.set_request_id("0");
      return FakeVerifier::answer_correct(asked, call, reply);
    });
    auto options = options_for({server.address()});
    options.max_attempts = 2;
    VerifierClient client(options);
    for (int i = 0; i < 4; ++i) client.submit(request(std::to_string(i), concat("p", i)));
    std::map<std::string, Outcome> outcomes;
    for (int i = 0; i < 4; ++i) {
      const Verdict v = verdict_of(client);
      CHECK(outcomes.emplace(v.request_id, v.outcome).second);
    }
    CHECK(outcomes == std::map<std::string, Outcome>{{"0", Outcome::kGraded},
                                                     {"1", Outcome::kInfrastructure},
                                                     {"2", Outcome::kInfrastructure},
                                                     {"3", Outcome::kInfrastructure}});
    CHECK(client.pending() == 0);
  }
  SECTION("no outcome") {
    FakeVerifier server([](const auto&, int, auto&) { return grpc::Status::OK; });
    auto options = options_for({server.address()});
    options.max_attempts = 2;
    VerifierClient client(options);
    const Verdict v = verify(client, "a", "p");
    CHECK(v.outcome == Outcome::kInfrastructure);
    CHECK_THAT(v.diagnostics, ContainsSubstring("no known outcome"));
  }
}

TEST_CASE("an answer that cannot change is not asked for again") {
  FakeVerifier server(
      [](const auto&, int, auto&) { return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no task"); });
  VerifierClient client(options_for({server.address()}));
  const Verdict v = verify(client, "a", "p");
  CHECK(v.outcome == Outcome::kInfrastructure);
  CHECK_THAT(v.diagnostics, ContainsSubstring("invalid argument (no task)"));
  CHECK(server.calls() == 1);
}

TEST_CASE("identical candidates are verified once, under way or seen before") {
  std::atomic<bool> release{false};
  FakeVerifier server([&](const auto& asked, int call, auto& reply) {
    hold_until([&] { return release.load(); });
    return FakeVerifier::answer_correct(asked, call, reply);
  });
  VerifierClient client(options_for({server.address()}));
  for (int i = 0; i < 6; ++i) client.submit(request(concat("same", i), "p"));
  auto other_task = request("other task", "p");
  other_task.pytorch_code = "another";
  client.submit(other_task);
  release = true;
  int cached = 0;
  std::set<std::string> ids;
  for (int i = 0; i < 7; ++i) {
    const Verdict v = verdict_of(client);
    ids.insert(v.request_id);
    cached += v.cached;
  }
  CHECK(ids.size() == 7);
  CHECK(cached == 5);
  CHECK(server.calls() == 2);

  const Verdict later = verify(client, "later", "p");
  CHECK(later.cached);
  CHECK(later.request_id == "later");
  CHECK(server.calls() == 2);
  const auto counters = client.counters();
  CHECK(counters.submitted == 8);
  CHECK(counters.unique == 2);
  CHECK(counters.joined == 5);
  CHECK(counters.remembered == 1);
  CHECK(counters.returned == 8);
  CHECK(counters.retried == 0);
}

TEST_CASE("a fresh request is verified anew") {
  std::atomic<int> bypassing{0};
  FakeVerifier server([&](const auto& asked, int call, auto& reply) {
    bypassing += asked.bypass_cache();
    return FakeVerifier::answer_correct(asked, call, reply);
  });
  VerifierClient client(options_for({server.address()}));
  verify(client, "a", "p");
  auto fresh = request("b", "p");
  fresh.fresh = true;
  client.submit(fresh);
  CHECK_FALSE(verdict_of(client).cached);
  CHECK(server.calls() == 2);
  CHECK(bypassing == 1);
  CHECK(verify(client, "c", "p").cached);
}

TEST_CASE("without memory only candidates under way are shared") {
  FakeVerifier server;
  auto options = options_for({server.address()});
  options.memory_verdicts = 0;
  VerifierClient client(options);
  verify(client, "a", "p");
  CHECK_FALSE(verify(client, "b", "p").cached);
  CHECK(server.calls() == 2);
}

TEST_CASE("a pending id cannot be used twice, a returned one can") {
  FakeVerifier server;
  VerifierClient client(options_for({server.address()}));
  client.submit(request("a", "p"));
  CHECK_THROWS_AS(client.submit(request("a", "q")), Error);
  CHECK(client.pending() == 1);
  verdict_of(client);
  CHECK(verify(client, "a", "q").diagnostics == "program q");
}

TEST_CASE("bytes that are no UTF-8 reach the server as replacement characters") {
  FakeVerifier server;
  VerifierClient client(options_for({server.address()}));
  CHECK(verify(client, "a", "x\xff\xc3(\xed\xa0\x80 \xf0\x9f\x98\x80").diagnostics ==
        "program x\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD \xf0\x9f\x98\x80");
}

TEST_CASE("the less loaded server gets more, a dead one nothing for long") {
  std::atomic<bool> release{false};
  FakeVerifier stuck([&](const auto& asked, int call, auto& reply) {
    hold_until([&] { return release.load(); });
    return FakeVerifier::answer_correct(asked, call, reply);
  });
  FakeVerifier quick;
  auto options = options_for({stuck.address(), quick.address()});
  options.max_in_flight = 8;
  VerifierClient client(options);
  for (int i = 0; i < 100; ++i) client.submit(request(std::to_string(i), concat("p", i)));
  int returned = 0;
  while (returned < 92) {
    verdict_of(client);
    ++returned;
  }
  CHECK(stuck.calls() >= 1);
  CHECK(stuck.calls() <= 8);
  release = true;
  for (; returned < 100; ++returned) CHECK(verdict_of(client).correct);
  CHECK(stuck.calls() + quick.calls() == 100);

  stuck.stop();
  for (int i = 0; i < 40; ++i) CHECK(verify(client, concat("again", i), concat("q", i)).correct);
}

TEST_CASE("a server that dies under load and stays away costs no verdict") {
  // Its calls hang until it goes, so that it certainly dies with some of them.
  FakeVerifier dying([](const auto&, int, auto&) {
    hold_until([] { return FakeVerifier::is_cancelled(); });
    return grpc::Status::CANCELLED;
  });
  FakeVerifier quick, other;
  auto options = options_for({dying.address(), quick.address(), other.address()});
  options.max_in_flight = 12;
  options.max_attempts =
      100000;  // a dead one is tried now and then, and must not use up a request's attempts
  VerifierClient client(options);
  for (int i = 0; i < 200; ++i) client.submit(request(std::to_string(i), concat("p", i)));
  wait_until([&] { return dying.calls() >= 4; });
  const int lost = dying.calls();
  dying.stop();
  std::set<std::string> ids;
  for (int i = 0; i < 200; ++i) {
    const Verdict v = verdict_of(client);
    CHECK(v.diagnostics == "program p" + v.request_id);
    ids.insert(v.request_id);
  }
  CHECK(ids.size() == 200);
  CHECK(client.pending() == 0);
  CHECK(client.counters().infrastructure == 0);
  CHECK(client.counters().retried >= lost);
  CHECK((quick.calls() > 0 && other.calls() > 0 && quick.calls() + other.calls() == 200));
}

TEST_CASE("what is withdrawn yields no verdict, and its ids are free again") {
  std::atomic<bool> hold{true};
  std::atomic<int> cancelled{0};
  FakeVerifier server([&](const auto& asked, int call, auto& reply) {
    if (hold && asked.program() == "slow") {
      hold_until([] { return FakeVerifier::is_cancelled(); });
      ++cancelled;
    }
    return FakeVerifier::answer_correct(asked, call, reply);
  });
  VerifierClient client(options_for({server.address()}));
  client.submit(request("1", "slow"));
  client.submit(request("2", "quick"));
  client.submit(request("3", "slow"));
  wait_until(
      [&] { return client.waiting_for().find("1 ready") != std::string::npos && server.calls() == 2; });
  auto withdrawn = client.withdraw();
  std::sort(withdrawn.begin(), withdrawn.end());
  CHECK(withdrawn == std::vector<std::string>{"1", "3"});
  CHECK(client.withdraw().empty());
  CHECK(client.pending() == 1);
  wait_until([&] { return cancelled == 1; });  // nothing works on it any more
  CHECK(verdict_of(client).request_id == "2");
  CHECK(client.pending() == 0);
  // The server answered that it was cancelled, or correct: neither is anybody's verdict.
  hold = false;
  CHECK(verify(client, "1", "another").diagnostics == "program another");
  const Verdict again = verify(client, "3", "slow");
  CHECK((again.correct && !again.cached));
  CHECK_FALSE(client.next(20ms).has_value());
  const auto counters = client.counters();
  CHECK((counters.withdrawn == 2 && counters.submitted == 5 && counters.returned == 3));
  CHECK(counters.infrastructure == 0);
}

TEST_CASE("requests that wait for a free call or for another attempt are withdrawn as well") {
  SECTION("for a free call") {
    std::atomic<bool> hold{true};
    FakeVerifier server([&](const auto& asked, int call, auto& reply) {
      if (hold) hold_until([] { return FakeVerifier::is_cancelled(); });
      return FakeVerifier::answer_correct(asked, call, reply);
    });
    auto options = options_for({server.address()});
    options.max_in_flight = 1;
    VerifierClient client(options);
    for (int i = 0; i < 5; ++i) client.submit(request(std::to_string(i), concat("p", i)));
    wait_until([&] { return server.calls() == 1; });
    CHECK(client.withdraw().size() == 5);
    hold = false;
    CHECK(verify(client, "0", "next").diagnostics == "program next");  // the one call is free again
    CHECK(server.calls() == 2);
  }
  SECTION("for another attempt") {
    std::atomic<bool> away{true};
    FakeVerifier server([&](const auto& asked, int call, auto& reply) {
      if (away) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "starting");
      return FakeVerifier::answer_correct(asked, call, reply);
    });
    auto options = options_for({server.address()});
    options.backoff_s = options.max_backoff_s = 3600;
    options.deadline_s = options.attempt_s = 80000;
    VerifierClient client(options);
    for (int i = 0; i < 3; ++i) client.submit(request(std::to_string(i), concat("p", i)));
    wait_until([&] { return client.waiting_for().find("3 to be tried again") != std::string::npos; });
    CHECK(client.withdraw().size() == 3);
    CHECK(client.pending() == 0);
    away = false;
    CHECK(verify(client, "0", "p1").diagnostics == "program p1");
    CHECK_FALSE(client.next(20ms).has_value());
    CHECK(server.calls() == 4);
  }
}

TEST_CASE("calls under way do not keep the client from going") {
  std::atomic<bool> release{false};
  FakeVerifier server([&](const auto& asked, int call, auto& reply) {
    hold_until([&] { return release.load(); });
    return FakeVerifier::answer_correct(asked, call, reply);
  });
  const DeafPort port(false);
  {
    auto options = options_for({server.address(), port.address()});
    options.max_in_flight = 4;
    options.backoff_s = options.max_backoff_s = 20;
    VerifierClient client(options);
    for (int i = 0; i < 20; ++i) client.submit(request(std::to_string(i), concat("p", i)));
    wait_until([&] { return server.calls() > 0; });
  }
  release = true;
}

TEST_CASE("servers describe themselves, and one that is away is named") {
  FakeVerifier server;
  const DeafPort port(false);
  VerifierClient client(options_for({server.address(), port.address()}));
  std::vector<Result<VerifierDescription>> descriptions;
  wait_until([&] {  // on a busy machine the first one may not answer in time, either
    descriptions = client.describe(200ms);
    return descriptions.at(0).ok();
  });
  REQUIRE(descriptions.size() == 2);
  REQUIRE(descriptions[0].ok());
  CHECK(descriptions[0].value().address == server.address());
  CHECK(descriptions[0].value().backend == "fake");
  CHECK(descriptions[0].value().workers == 3);
  CHECK(descriptions[0].value().protocol ==
        VerificationProtocol{.tolerance = TolerancePolicy::kPublished, .trials = 3});
  CHECK(descriptions[0].value().clock.empty());
  CHECK(descriptions[0].value().missing_features == std::vector<std::string>{"all: this is a test"});
  REQUIRE_FALSE(descriptions[1].ok());
  CHECK_THAT(descriptions[1].reason(), ContainsSubstring(port.address()));
}

TEST_CASE("a server that starts late is waited for by describe") {
  FakeVerifier server;
  server.stop();
  VerifierClient client(options_for({server.address()}));
  std::thread starter([&] {
    std::this_thread::sleep_for(150ms);
    server.start();
  });
  const auto descriptions = client.describe(kPatience);
  starter.join();
  CHECK(descriptions[0].ok());
}

TEST_CASE("500 submissions from several threads with faults: none lost, none doubled, none mixed up") {
  // What goes wrong depends on the program alone, so that every run injects the same faults.
  const auto answer = [](const FakeVerifier::Request& asked, int call, FakeVerifier::Reply& reply) {
    RandomStream dice(mix_key(static_cast<uint64_t>(call), asked.program()));
    std::this_thread::sleep_for(std::chrono::microseconds(dice.below(4000)));
    const uint64_t fate = dice.below(100);
    if (fate < 15) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "injected");
    if (fate < 20) return grpc::Status(grpc::StatusCode::INTERNAL, "injected");
    FakeVerifier::answer_correct(asked, call, reply);
    if (fate < 25) reply.set_request_id("42");
    if (fate < 30) reply.set_outcome(wire::OUTCOME_INFRASTRUCTURE);
    return grpc::Status::OK;
  };
  FakeVerifier one(answer), two(answer);
  auto options = options_for({one.address(), two.address()});
  options.max_in_flight = 24;
  options.max_attempts = 50;
  VerifierClient client(options);

  constexpr int kThreads = 4, kEach = 125, kDistinct = 90;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i)
        client.submit(request(concat(t, ".", i), concat("program ", (t * kEach + i) % kDistinct)));
    });
  std::mutex mutex;
  std::map<std::string, Verdict> verdicts;
  std::atomic<int> returned{0}, doubled{0};
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (returned < kThreads * kEach) {
        const auto verdict = client.next(50ms);
        if (!verdict) continue;
        ++returned;
        std::lock_guard lock(mutex);
        doubled += !verdicts.emplace(verdict->request_id, *verdict).second;
      }
    });
  // One of the servers goes away in the middle and comes back.
  wait_until([&] { return one.calls() > 20; });
  one.stop();
  one.start();
  for (auto& thread : threads) thread.join();

  CHECK(doubled == 0);
  CHECK(verdicts.size() == kThreads * kEach);
  for (int t = 0; t < kThreads; ++t)
    for (int i = 0; i < kEach; ++i) {
      const Verdict& v = verdicts.at(concat(t, ".", i));
      CHECK(v.outcome == Outcome::kGraded);
      CHECK(v.diagnostics == concat("program program ", (t * kEach + i) % kDistinct));
    }
  CHECK(client.pending() == 0);
  CHECK_FALSE(client.next(20ms).has_value());
  CHECK(one.most_at_once() + two.most_at_once() <= 2 * options.max_in_flight);
  const auto counters = client.counters();
  CHECK(counters.submitted == 500);
  CHECK(counters.returned == 500);
  CHECK(counters.unique == kDistinct);
  CHECK(counters.unique + counters.joined + counters.remembered == 500);
  CHECK(counters.infrastructure == 0);
  CHECK(counters.retried > 20);
}

TEST_CASE("the number of calls at a time is bounded") {
  FakeVerifier server([](const auto& asked, int call, auto& reply) {
    std::this_thread::sleep_for(3ms);
    return FakeVerifier::answer_correct(asked, call, reply);
  });
  auto options = options_for({server.address()});
  options.max_in_flight = 3;
  VerifierClient client(options);
  for (int i = 0; i < 60; ++i) client.submit(request(std::to_string(i), concat("p", i)));
  for (int i = 0; i < 60; ++i) verdict_of(client);
  CHECK(server.most_at_once() <= 3);
}

TEST_CASE("unusable addresses are refused") {
  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{{},
                                                                                   {""},
                                                                                   {"localhost"},
                                                                                   {":5000"},
                                                                                   {"host:"},
                                                                                   {"host:0"},
                                                                                   {"host:65536"},
                                                                                   {"host:5x"},
                                                                                   {"h:1", "h:1"}})
    CHECK_THROWS_AS(VerifierClient(options_for(bad)), InputError);
}

TEST_CASE("client options are read from a section") {
  const auto read = [](const std::string& yaml) {
    const auto document = ConfigDocument::from_text(yaml, "run.yaml");
    const auto options = VerifierClientOptions::from_config(document.root());
    document.finish();
    return options;
  };
  const auto options = read(
      "addresses: ['a:1', 'b:2']\naccess: {authority: ca.pem, token: secret}\ndeadline_s: 10\nmax_in_flight: "
      "4\nmemory_verdicts: 0\ntrials: 5\n"
      "tolerance: published\n");
  CHECK(options.addresses == std::vector<std::string>{"a:1", "b:2"});
  CHECK(options.access.authority == "ca.pem");
  CHECK(options.access.token == "secret");
  CHECK(options.deadline_s == 10);
  CHECK(options.attempt_s == 10);
  CHECK(options.max_in_flight == 4);
  CHECK(options.memory_verdicts == 0);
  CHECK(options.protocol.trials == 5);
  CHECK(options.protocol.tolerance == TolerancePolicy::kPublished);
  CHECK(read("").addresses.empty());
  CHECK(read("").protocol == VerificationProtocol{});  // all of it is left to the verifier
  const auto refusal = [&](const std::string& yaml) -> std::string {
    try {
      read(yaml);
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  };
  CHECK(refusal("\naddresses: [nowhere]") ==
        "run.yaml:2: addresses: 'nowhere' is no verifier address of the form host:port");
  CHECK_THAT(refusal("addresses: ['localhost:1', 'a:1']"), ContainsSubstring("a:1 is on another machine"));
  CHECK_THAT(refusal("access: {authority: ca.pem}"), ContainsSubstring("token: is missing"));
  CHECK_THAT(refusal("access: {token: secret}"), ContainsSubstring("authority: is missing"));
  CHECK(refusal("deadline_s: 5\nattempt_s: 6") ==
        "run.yaml:2: attempt_s: must not be more than 'deadline_s'");
  CHECK_THAT(refusal("tolerance: publishd"),
             ContainsSubstring("run.yaml:1: tolerance") && ContainsSubstring("did you mean published?"));
  CHECK_THAT(refusal("max_in_flight: 0"), ContainsSubstring("from 1 to 4096"));
  CHECK_THAT(refusal("max_backoff_s: 0.1"), ContainsSubstring("must not be less than 'backoff_s'"));
}
