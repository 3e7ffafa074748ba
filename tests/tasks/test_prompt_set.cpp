#include "tasks/prompt_set.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "tasks/chat_template.h"
#include "tests/support/support.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string refusal(const std::string& text) {
  try {
    parse_prompts(text, "p.jsonl");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("prompts are read from a list and from lines, as texts and as conversations") {
  const std::string one = R"({"prompt": "def f(x):\n", "source": "somewhere"})";
  const std::string two =
      R"({"id": "chat", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]})";
  const std::string three = R"({"id": 7, "prompt": " "})";
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "prompts";
  for (const std::string& text :
       {concat("[", one, ",", two, ",", three, "]"), concat(one, "\n", two, "\n", three),
        concat(one, "\n", two, "\n", three, "\n")}) {
    write_file_atomically(file, text);
    const std::vector<Prompt> prompts = load_prompts(file);
    REQUIRE(prompts.size() == 3);
    CHECK(prompts[0].task_id == "1");
    CHECK(prompts[0].text == "def f(x):\n");
    CHECK(prompts[0].answer_end.empty());
    CHECK(prompts[1].task_id == "chat");
    CHECK(prompts[1].text == chat_text({{ChatRole::kSystem, "s"}, {ChatRole::kUser, "u"}}));
    CHECK(prompts[1].answer_end == "<|im_end|>");
    CHECK(prompts[2].task_id == "7");
    CHECK(prompts[2].text == " ");
  }
  // A prompt's number is its line's.
  CHECK(parse_prompts(concat(one, "\n\n", one), "p.jsonl")[1].task_id == "3");
}

TEST_CASE("broken prompts are refused by entry and field") {
  const auto entry = [](const std::string& fields) { return refusal(concat("[{", fields, "}]")); };
  CHECK(entry(R"("prompt": "")").starts_with("p.jsonl: entry 1: prompt: is empty"));
  CHECK_THAT(entry(R"("prompt": 3)"), ContainsSubstring("prompt: must be a string, found number"));
  CHECK_THAT(entry(R"("text": "a")"), ContainsSubstring("neither a prompt nor messages"));
  CHECK_THAT(entry(R"("prompt": "a", "messages": [])"), ContainsSubstring("both"));
  CHECK_THAT(entry(R"("prompt": "a", "id": "")"), ContainsSubstring("id: is empty"));
  CHECK_THAT(entry(R"("prompt": "a", "id": 1.5)"), ContainsSubstring("id: must be a string"));
  for (const char* list : {"[]", "\"a\"", "{}"})
    CHECK_THAT(entry(concat(R"("messages": )", list)),
               ContainsSubstring("messages: must be a list of messages"));
  const auto message = [&](const std::string& fields) {
    return entry(concat(R"("messages": [{"role": "user", "content": "u"}, {)", fields, "}]"));
  };
  CHECK_THAT(message(R"("role": "tool", "content": "")"),
             ContainsSubstring("messages: 2: role: must be system, user or assistant, found 'tool'"));
  CHECK_THAT(message(R"("role": "user")"), ContainsSubstring("messages: 2: content: is missing"));
  CHECK_THAT(message(R"("role": "user", "content": [{"type": "text"}])"),
             ContainsSubstring("messages: 2: content: must be a string"));
  CHECK_THAT(message(R"("role": "assistant", "content": "", "tool_calls": [])"), ContainsSubstring("tool"));
  CHECK_THAT(message(R"("role": "assistant", "content": "a")"),
             ContainsSubstring("must end with a user's turn"));
  CHECK_THAT(refusal("[1]"), ContainsSubstring("entry 1: must be an object"));
  CHECK_THAT(refusal(R"([{"prompt": "a", "id": "2"}, {"prompt": "b"}])"),
             ContainsSubstring("entry 2: id: '2' is taken by entry 1"));
  CHECK_THAT(refusal("{\"prompt\": \"a\"}\n{\"prompt\": \"b\"\n"), ContainsSubstring("entry 2: is not JSON"));
  CHECK_THAT(refusal("a prompt"), ContainsSubstring("neither a JSON list nor JSON lines"));
  for (const char* nothing : {"", "[]", "\n"})
    CHECK_THAT(refusal(nothing), ContainsSubstring("holds no prompt"));
  std::string many;
  for (int i = 0; i < 14; ++i) many += "{}\n";
  CHECK_THAT(refusal(many), ContainsSubstring("entry 10:") && ContainsSubstring("and 4 more"));
}

TEST_CASE("the hash of prompts is of all they say") {
  const std::vector<Prompt> prompts = parse_prompts(R"([{"prompt": "a"}, {"prompt": "b"}])", "p");
  CHECK(hash_of(prompts) == hash_of(parse_prompts("{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n", "q")));
  for (const char* other : {R"([{"prompt": "a"}])", R"([{"prompt": "b"}, {"prompt": "a"}])",
                            R"([{"prompt": "a", "id": "x"}, {"prompt": "b"}])"})
    CHECK(hash_of(prompts) != hash_of(parse_prompts(other, "p")));
}
