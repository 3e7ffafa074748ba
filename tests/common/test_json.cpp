// JSON and text from outside.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/json.h"
#include "common/rng.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

std::string nested(int levels) {
  std::string text;
  for (int i = 0; i < levels; ++i) text += i % 2 ? "{\"a\":" : "[";
  text += "1";
  for (int i = levels; i-- > 0;) text += i % 2 ? '}' : ']';
  return text;
}

}  // namespace

TEST_CASE("JSON is read to a bounded depth") {
  CHECK(parse_json(nested(kMaxJsonDepth), "x").is_array());
  CHECK_THROWS_AS(parse_json(nested(kMaxJsonDepth + 1), "x"), InputError);
  // Deep enough to exhaust the stack of whoever copies or prints it.
  CHECK_THAT(try_parse_json(nested(1'000'000)).reason(), ContainsSubstring("nested more than 100 levels"));
  CHECK(try_parse_json(std::string(1'000'000, '[')).ok() == false);
  // Brackets within texts are no nesting.
  CHECK(parse_json(json(std::string(1000, '[') + "\"\\" + std::string(1000, '{')).dump(), "x").is_string());
}

TEST_CASE("a message about broken JSON is short, whatever the JSON") {
  const auto broken = try_parse_json("{\"a\": 1,}");
  REQUIRE_FALSE(broken.ok());
  CHECK_THAT(broken.reason(), ContainsSubstring("line 1"));
  CHECK_THAT(broken.reason(), !ContainsSubstring("json.exception"));
  CHECK(try_parse_json("\"" + std::string(5'000'000, 'x')).reason().size() < 400);
  try {
    parse_json("[1", "tasks.json");
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("tasks.json: not valid JSON: "));
  }
}

TEST_CASE("an excerpt is the value's text as far as it is short") {
  for (const char* text : {"null", "-3", "0.5", "\"a\"", "[]", "{}", "[1,[2,{\"a\":null}],\"b\"]",
                           "{\"a\":[true,false],\"b\":{}}"})
    CHECK(json_excerpt(json::parse(text)) == text);
  CHECK(json_excerpt(std::string("\xff")) == "\"\\ufffd\"");
  json wide = json::array();
  for (int i = 0; i < 100'000; ++i) wide.push_back(std::string(1000, 'x'));
  CHECK(json_excerpt(wide).size() < 100);
  json deep = 1;
  for (int i = 0; i < 500'000; ++i) deep = json::array({std::move(deep)});
  CHECK(json_excerpt(deep) == "[[[[[[[[[...]]]]]]]]]");
}
