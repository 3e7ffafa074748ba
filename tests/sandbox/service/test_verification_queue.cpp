// The queue before the pipeline: sharing, caching, bounds, cancellation, stop.
#include "sandbox/service/verification_queue.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <future>
#include <latch>
#include <thread>

namespace bicrl {
namespace {

VerificationRequest request(const std::string& id, const std::string& program) {
  VerificationRequest r;
  r.request_id = id;
  r.pytorch_code = "task";
  r.program = program;
  return r;
}

Verdict noted(const std::string& note) {
  Verdict v;
  v.outcome = Outcome::kGraded;
  v.diagnostics = note;
  return v;
}

// A verification that waits until it is let go.
struct Gate {
  std::promise<void> open;
  std::shared_future<void> opened = open.get_future().share();
  std::atomic<int> entered = 0;
  VerificationQueue::VerifyOne function() {
    return [this](const VerificationRequest& r, std::stop_token stop) {
      ++entered;
      while (opened.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
        if (stop.stop_requested()) return Verdict{};
      return noted(r.program);
    };
  }
  void wait_entered(int count) const {
    while (entered < count) std::this_thread::yield();
  }
};

TEST_CASE("identical candidates in flight are verified once and each gets its own id") {
  Gate gate;
  VerificationQueue queue(gate.function(), "", {2, 100, 1 << 20});
  std::latch all(9);
  std::mutex mutex;
  std::vector<Verdict> verdicts;
  for (int i = 0; i < 9; ++i)
    REQUIRE(queue.submit(request(std::to_string(i), i < 8 ? "same" : "other"), [&](const Verdict& v) {
      {
        const std::lock_guard lock(mutex);
        verdicts.push_back(v);
      }
      all.count_down();
    }));
  gate.wait_entered(2);
  gate.open.set_value();
  all.wait();
  CHECK(gate.entered == 2);
  CHECK(queue.statistics().verified == 2);
  CHECK(queue.statistics().cache_hits == 7);
  int fresh = 0;
  for (const auto& v : verdicts) {
    fresh += !v.cached;
    CHECK(v.diagnostics == (v.request_id == "8" ? "other" : "same"));
  }
  CHECK(fresh == 2);
}

TEST_CASE("stored verdicts are used unless bypassed, infrastructure verdicts are never stored") {
  std::atomic<int> runs = 0;
  VerificationQueue queue(
      [&](const VerificationRequest& r, std::stop_token) {
        ++runs;
        return r.program == "flaky" ? Verdict{} : noted("");
      },
      "", {1, 100, 1 << 20});
  CHECK_FALSE(queue.verify(request("a", "p")).cached);
  const Verdict again = queue.verify(request("b", "p"));
  CHECK(again.cached);
  CHECK(again.request_id == "b");
  CHECK(runs == 1);
  VerificationRequest bypass = request("c", "p");
  bypass.fresh = true;
  CHECK_FALSE(queue.verify(bypass).cached);
  CHECK(runs == 2);
  VerificationRequest other = request("d", "p");
  other.protocol.tolerance = TolerancePolicy::kTf32;
  CHECK_FALSE(queue.verify(other).cached);
  CHECK(queue.verify(request("e", "flaky")).outcome == Outcome::kInfrastructure);
  CHECK(queue.verify(request("f", "flaky")).outcome == Outcome::kInfrastructure);
  CHECK(runs == 5);
}

TEST_CASE("a full queue refuses") {
  Gate gate;
  VerificationQueue queue(gate.function(), "", {1, 2, 1 << 20});
  const auto ignore = [](const Verdict&) {};
  REQUIRE(queue.submit(request("", "0"), ignore));
  gate.wait_entered(1);
  REQUIRE(queue.submit(request("", "1"), ignore));
  REQUIRE(queue.submit(request("", "2"), ignore));
  const auto refused = queue.submit(request("", "3"), ignore);
  CHECK_FALSE(refused.ok());
  CHECK(refused.reason().find("full") != std::string::npos);
  CHECK(queue.submit(request("", "2"), ignore).ok());  // identical: takes no room
  gate.open.set_value();
}

TEST_CASE("cancellation stops a verification only when nobody else waits for it") {
  Gate gate;
  std::atomic<int> answered = 0;
  VerificationQueue queue(gate.function(), "", {1, 100, 1 << 20});
  const auto count = [&](const Verdict&) { ++answered; };
  const auto first = queue.submit(request("", "p"), count);
  const auto second = queue.submit(request("", "p"), count);
  gate.wait_entered(1);
  CHECK(queue.cancel(first.value()));
  CHECK_FALSE(queue.cancel(first.value()));
  CHECK(queue.cancel(second.value()));                        // the running one is asked to stop
  const auto queued = queue.submit(request("", "p"), count);  // not joined to the stopped one
  gate.wait_entered(2);
  gate.open.set_value();
  while (answered < 1) std::this_thread::yield();
  CHECK(answered == 1);
  CHECK_FALSE(queue.cancel(queued.value()));
}

TEST_CASE("each request is announced before its turn, as far ahead as there are workers") {
  Gate gate;
  std::mutex mutex;
  std::vector<std::string> announced;
  std::latch all(6);
  VerificationQueue queue(gate.function(), "", {2, 100, 1 << 20},
                          [&](const VerificationRequest& r, const std::stop_token&) {
                            const std::lock_guard lock(mutex);
                            announced.push_back(r.program);
                            return nullptr;
                          });
  // Two run; of the others none is announced before they end.
  for (int i = 0; i < 2; ++i)
    REQUIRE(queue.submit(request("", std::to_string(i)), [&](const Verdict&) { all.count_down(); }));
  gate.wait_entered(2);
  for (int i = 2; i < 6; ++i)
    REQUIRE(queue.submit(request("", std::to_string(i)), [&](const Verdict&) { all.count_down(); }));
  {
    const std::lock_guard lock(mutex);
    CHECK(std::find(announced.begin(), announced.end(), "5") == announced.end());
  }
  gate.open.set_value();
  all.wait();
  const std::lock_guard lock(mutex);
  for (const char* name : {"4", "5"})
    CHECK(std::find(announced.begin(), announced.end(), name) != announced.end());
}

TEST_CASE("draining lets what runs come to its end, and hands back what waits") {
  Gate gate;
  VerificationQueue queue(gate.function(), "", {1, 100, 1 << 20});
  std::vector<Outcome> outcomes(3);
  std::latch all(3);
  for (size_t i = 0; i < 3; ++i)
    REQUIRE(queue.submit(request("", std::to_string(i)), [&, i](const Verdict& v) {
      outcomes[i] = v.outcome;
      all.count_down();
    }));
  gate.wait_entered(1);
  CHECK(queue.statistics().waiting == 2);
  CHECK(queue.statistics().running == 1);
  // A limit: the one that runs is still at it.
  CHECK_FALSE(queue.drain(0.01, {}));
  CHECK(queue.statistics().stopping);
  CHECK(queue.statistics().waiting == 0);
  CHECK_FALSE(queue.submit(request("", "late"), [](const Verdict&) {}).ok());
  // Whoever is in a hurry waits no longer.
  std::stop_source hurry;
  hurry.request_stop();
  CHECK_FALSE(queue.drain(3600, hurry.get_token()));
  std::jthread opens([&] { gate.open.set_value(); });
  CHECK(queue.drain(3600, {}));
  all.wait();
  CHECK(outcomes ==
        std::vector<Outcome>{Outcome::kGraded, Outcome::kInfrastructure, Outcome::kInfrastructure});
  CHECK(gate.entered == 1);
}

TEST_CASE(
    "what was prepared for a request is kept until its verdict, and dropped with it if it is given up") {
  struct Prepared {
    std::stop_token stop;
    std::atomic<int>&kept, &given_up;
    Prepared(std::stop_token token, std::atomic<int>& k, std::atomic<int>& g)
        : stop(std::move(token)), kept(k), given_up(g) {
      ++kept;
    }
    ~Prepared() {
      --kept;
      given_up += stop.stop_requested();
    }
  };
  std::atomic<int> kept = 0, given_up = 0;
  Gate gate;
  {
    VerificationQueue queue(gate.function(), "", {1, 100, 1 << 20},
                            [&](const VerificationRequest&, std::stop_token stop) {
                              return std::make_shared<Prepared>(std::move(stop), kept, given_up);
                            });
    std::vector<VerificationQueue::Ticket> tickets;
    const auto ignore = [](const Verdict&) {};
    // The first is not announced: it runs at once.
    REQUIRE(queue.submit(request("", "0"), ignore));
    gate.wait_entered(1);
    for (const char* name : {"1", "2"}) tickets.push_back(queue.submit(request("", name), ignore).value());
    gate.open.set_value();
    while (queue.statistics().running + queue.statistics().waiting > 0) std::this_thread::yield();
    CHECK(kept == 0);
    CHECK(given_up == 0);
  }
  Gate shut;
  VerificationQueue queue(shut.function(), "", {1, 100, 1 << 20},
                          [&](const VerificationRequest&, std::stop_token stop) {
                            return std::make_shared<Prepared>(std::move(stop), kept, given_up);
                          });
  std::vector<VerificationQueue::Ticket> tickets;
  for (const char* name : {"0", "1", "2"})
    tickets.push_back(queue.submit(request("", name), [](const Verdict&) {}).value());
  shut.wait_entered(1);
  const int announced = kept;
  for (const auto ticket : tickets) CHECK(queue.cancel(ticket));
  while (kept > 0) std::this_thread::yield();
  CHECK(given_up == announced);
  CHECK(queue.statistics().cancelled == 3);
}

TEST_CASE("verdicts are kept apart by salt, protocol, task and program, each by itself") {
  const auto graded_by = [](const std::string& salt) {
    return [salt](const VerificationRequest&, std::stop_token) { return noted(salt); };
  };
  VerificationQueue queue(graded_by("one"), "gpu/A/measured A", {1, 100, 1 << 20});
  VerificationRequest first = request("", "p");
  first.protocol = kDefaultProtocol;
  CHECK_FALSE(queue.verify(first).cached);
  CHECK(queue.verify(first).cached);
  std::vector<VerificationRequest> others(10, first);
  others[0].protocol.tolerance = TolerancePolicy::kPublished;
  others[1].protocol.tolerance = TolerancePolicy::kTf32;
  others[2].protocol.trials = 5;
  others[3].protocol.measure_time = true;
  others[4].pytorch_code += " ";
  others[5].program += " ";
  others[6].protocol.size = SizePolicy::kReduced;
  others[7].protocol.size = SizePolicy::kOwn;
  others[8].protocol.specialised = SpecialisedPolicy::kMask;
  others[9].reduced_sizes = R"([{"rows": 33}])";
  for (const VerificationRequest& other : others) CHECK_FALSE(queue.verify(other).cached);
  for (const VerificationRequest& other : others) CHECK(queue.verify(other).cached);
}

TEST_CASE("stopping answers everybody") {
  Gate gate;
  std::atomic<int> infrastructure = 0;
  VerificationQueue queue(gate.function(), "", {1, 100, 1 << 20});
  for (int i = 0; i < 5; ++i)
    REQUIRE(queue.submit(request("", std::to_string(i)),
                         [&](const Verdict& v) { infrastructure += v.outcome == Outcome::kInfrastructure; }));
  gate.wait_entered(1);
  queue.stop();
  CHECK(infrastructure == 5);
  CHECK_FALSE(queue.submit(request("", "x"), [](const Verdict&) {}).ok());
}

}  // namespace
}  // namespace bicrl
