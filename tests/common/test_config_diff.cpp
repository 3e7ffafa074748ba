#include "common/config/config_diff.h"

#include <catch2/catch_test_macros.hpp>

#include "common/error.h"

namespace bicrl {
namespace {

std::string differences(const std::string& before, const std::string& after,
                        const std::vector<std::string>& ignored = {}) {
  std::string text;
  for (const auto& change : config_changes(before, after, ignored))
    text += change.key + ": " + change.before + " -> " + change.after + "\n";
  return text;
}

TEST_CASE("differences are listed key by key") {
  CHECK(differences("a: 1\nb: {c: x}\n", "b: {c: x}\na: 1\n").empty());
  CHECK(differences("a: 1\n", "a: 2\n") == "a: 1 -> 2\n");
  CHECK(differences("a: {b: 1, c: 2}\n", "a: {b: 1}\nd: [1, 2]\n") ==
        "d: (absent) -> [1, 2]\na.c: 2 -> (absent)\n");
  CHECK(differences("s:\n  - {n: 1}\n  - {n: 2}\n", "s:\n  - {n: 1}\n  - {n: 3}\n  - {n: 4}\n") ==
        "s.1.n: 2 -> 3\ns.2.n: (absent) -> 4\n");
  CHECK(differences("l: []\n", "l: [a]\n") == "l: [] -> [a]\n");
}

TEST_CASE("ignored keys cover what lies below them, and no others") {
  CHECK(differences("run: {directory: a, seed: 1}\n", "run: {directory: b, seed: 1}\n", {"run.directory"})
            .empty());
  CHECK(differences("v: {s: {w: 1}}\nvs: 1\n", "v: {s: {w: 2}}\nvs: 2\n", {"v"}) == "vs: 1 -> 2\n");
}

TEST_CASE("a text that is no mapping is refused") {
  CHECK_THROWS_AS(config_changes("- 1\n", "a: 1\n", {}), InputError);
  CHECK_THROWS_AS(config_changes("a: 1\n", "a: [1\n", {}), InputError);
}

}  // namespace
}  // namespace bicrl
