#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "report/page/html.h"
#include "tests/report/hostile_texts.h"

namespace bicrl::report {
namespace {

// Back from the five named and the numbered entities, by a table of its own.
std::string unescaped(std::string markup) {
  for (const auto& [entity, character] : {std::pair{"&lt;", "<"},
                                          {"&gt;", ">"},
                                          {"&quot;", "\""},
                                          {"&#39;", "'"},
                                          {"&#96;", "`"},
                                          {"&amp;", "&"}})
    for (size_t at = 0; (at = markup.find(entity, at)) != std::string::npos; at += 1)
      markup.replace(at, std::string_view(entity).size(), character);
  return markup;
}

TEST_CASE("hostile texts hold no character of markup once they are escaped") {
  for (const std::string& hostile : hostile_texts()) {
    CAPTURE(hostile);
    const std::string markup = text(hostile).markup();
    CHECK(markup.find_first_of("<>\"'`") == std::string::npos);
    CHECK(unescaped(markup) == visible_text(hostile));
    const std::string attribute = element("p", {{"title", hostile}}).markup();
    CHECK(std::ranges::count(attribute, '"') == 2);
    CHECK(std::ranges::count(attribute, '<') == 2);
  }
}

TEST_CASE("ordinary program text comes through unchanged") {
  const std::string program = "for (int i = 0; i < n && x[i] > 0; ++i)\n\ty[i] = \"ä中\"[0];\n";
  CHECK(visible_text(program) == program);
  CHECK(text("a < b && c > \"d\"").markup() == "a &lt; b &amp;&amp; c &gt; &quot;d&quot;");
}

TEST_CASE("characters that mislead are shown by their number") {
  using namespace std::string_literals;
  CHECK(visible_text("a\u202Eb"s) == "a[U+202E]b");
  CHECK(visible_text("a\0b"s) == "a[U+0000]b");
  CHECK(visible_text("a\x1B[2J"s) == "a[U+001B][2J");
  CHECK(visible_text("a\u200Bb\u2066c\u2069\uFEFF"s) == "a[U+200B]b[U+2066]c[U+2069][U+FEFF]");
  CHECK(visible_text("\xFF"s) == "\uFFFD");
  CHECK(visible_text("\U000E0041"s) == "[U+E0041]");
}

TEST_CASE("data in a script element hold no closing tag and read back equal") {
  for (const std::string& hostile : hostile_texts()) {
    CAPTURE(hostile);
    const nlohmann::json value = {{"text", visible_text(hostile)}, {visible_text(hostile), 1}};
    const std::string embedded = json_for_script(value.dump());
    CHECK(embedded.find_first_of("<>&") == std::string::npos);
    CHECK(embedded.find("\u2028") == std::string::npos);
    CHECK(nlohmann::json::parse(embedded) == value);
  }
  CHECK(nlohmann::json::parse(json_for_script("\"\u2028<\u2029\"")) == "\u2028<\u2029");
}

}  // namespace
}  // namespace bicrl::report
