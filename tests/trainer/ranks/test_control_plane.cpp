#include "tests/trainer/ranks/thread_ranks.h"

#include "trainer/ranks/control_plane.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>

#include "trainer/ranks/document_exchange.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

// How many of three ranks threw a SharedError, which must say `words` and have the code.
int shared_errors(const std::function<void(ControlPlane&)>& work, const std::string& words, ExitCode code) {
  std::atomic<int> thrown{0};
  on_ranks(3, [&](ControlPlane& ranks) {
    try {
      work(ranks);
    } catch (const SharedError& error) {
      const bool as_expected =
          std::string(error.what()).find(words) != std::string::npos && error.code() == code;
      thrown += as_expected ? 1 : 100;
    }
  });
  return thrown;
}

}  // namespace

TEST_CASE("ranks that read other content than the first all end, with the rank's name") {
  const auto differing = [](int odd_one) {
    return [odd_one](ControlPlane& ranks) {
      expect_equal_on_ranks(ranks, "configuration", ranks.rank() == odd_one ? "steps: 20" : "steps: 10");
    };
  };
  CHECK(shared_errors(differing(-1), "", ExitCode::kOk) == 0);
  CHECK(shared_errors(differing(2), "rank 2 has read another configuration", ExitCode::kUsage) == 3);
  CHECK(shared_errors(differing(0), "rank 1 has read another configuration", ExitCode::kUsage) == 3);
}

TEST_CASE("an embedded verifier is for ranks of one host") {
  const auto on_hosts = [](int ranks_per_host) {
    std::atomic<int> refused{0};
    on_ranks(
        4,
        [&](ControlPlane& ranks) {
          try {
            require_one_host(ranks);
          } catch (const InputError& error) {
            refused += std::string(error.what()).find("2 hosts") != std::string::npos &&
                       std::string(error.what()).find("verifier.addresses") != std::string::npos;
          }
        },
        ranks_per_host);
    return refused.load();
  };
  CHECK(on_hosts(4) == 0);
  CHECK(on_hosts(2) == 4);
}

TEST_CASE("what one rank throws all ranks throw") {
  const auto failing = [](int who) {
    return [who](ControlPlane& ranks) {
      throw_first_error(ranks.all_gather(error_of([&] {
        if (ranks.rank() == who) throw InputError("no such task");
      })));
    };
  };
  CHECK(shared_errors(failing(-1), "", ExitCode::kOk) == 0);
  CHECK(shared_errors(failing(1), "rank 1: no such task", ExitCode::kUsage) == 3);
  const auto first_fails = [](ControlPlane& ranks) {
    on_rank_zero(ranks, [&] { throw Error("disk full"); });
  };
  CHECK(shared_errors(first_fails, "disk full", ExitCode::kFailure) == 3);
}

TEST_CASE("every rank gets the documents of all in rank order, and the error of one ends all") {
  std::atomic<int> right{0};
  on_ranks(3, [&](ControlPlane& ranks) {
    const auto all = exchange_documents(ranks, {{"rank", ranks.rank()}, {"text", "\xff"}});
    for (int rank = 0; rank < 3; ++rank)
      right += all.at(static_cast<size_t>(rank)) == nlohmann::json{{"rank", rank}, {"text", "\ufffd"}};
  });
  CHECK(right == 9);
  const auto failing = [](ControlPlane& ranks) {
    const std::string error =
        error_of([&] { ranks.rank() == 1 ? throw Error("no room", ExitCode::kUnavailable) : void(); });
    exchange_documents(ranks, nlohmann::json(), error);
  };
  CHECK(shared_errors(failing, "rank 1: no room", ExitCode::kUnavailable) == 3);
}
