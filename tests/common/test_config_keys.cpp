#include <catch2/catch_test_macros.hpp>

#include "common/config/config.h"
#include "common/config/config_keys.h"

namespace bicrl {
namespace {

ConfigKey key_at(const ConfigKeyLog& log, const std::string& path) {
  for (const ConfigKey& key : log.keys())
    if (key.path == path) return key;
  FAIL("the log lacks " << path);
  return {};
}

TEST_CASE("log of configuration keys records type, default, range, value and place") {
  const auto document =
      ConfigDocument::from_text("a:\n  steps: 5\nrules:\n  - name: x\n", "file", {"a.rate=0.5"});
  const ConfigKeyLog log;
  const ConfigSection a = document.root().section("a");
  a.integer("steps", 3, 1, 10);
  a.real("rate", 1, 0);
  a.choice("kind", "one", {"one", "two"});
  document.root().sections("rules").front().required_text("name");

  const ConfigKey steps = key_at(log, "a.steps");
  CHECK(steps.type == "integer");
  CHECK(steps.fallback == "3");
  CHECK(steps.range == "1 to 10");
  CHECK(steps.value == "5");
  CHECK(steps.place == "file:2");
  CHECK(key_at(log, "a.rate").range == "at least 0");
  CHECK(key_at(log, "a.rate").place == "command line: a.rate=0.5");
  CHECK(key_at(log, "a.kind").range == "one, two");
  CHECK(key_at(log, "a.kind").place == "default");
  CHECK(key_at(log, "rules.0.name").fallback.empty());
}

TEST_CASE("log of configuration keys keeps the stricter of two readings") {
  const auto document = ConfigDocument::from_text("rule: binary\n", "file");
  const ConfigKeyLog log;
  document.root().required_text("rule");
  document.root().choice("rule", "speedup", {"binary", "speedup"});
  document.root().required_text("rule");
  REQUIRE(log.keys().size() == 1);
  CHECK(log.keys().front().type == "choice");
  CHECK(log.keys().front().fallback.empty());
}

TEST_CASE("inner log of configuration keys hides the outer one while it lives") {
  const auto document = ConfigDocument::from_text("a: 1\nb: 2\n", "file");
  const ConfigKeyLog outer;
  {
    const ConfigKeyLog inner;
    document.root().integer("a", 0);
    CHECK(inner.keys().size() == 1);
  }
  document.root().integer("b", 0);
  REQUIRE(outer.keys().size() == 1);
  CHECK(outer.keys().front().path == "b");
}

}  // namespace
}  // namespace bicrl
