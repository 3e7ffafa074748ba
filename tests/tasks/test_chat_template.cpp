#include "tasks/chat_template.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "common/rng.h"
#include "tasks/prompt.h"
#include "tests/support/support.h"

using namespace bicrl;

namespace {

constexpr ChatRole kSystem = ChatRole::kSystem, kUser = ChatRole::kUser, kAssistant = ChatRole::kAssistant;

// Conversations of random roles, with what the template treats specially strewn in.
std::vector<std::vector<ChatMessage>> random_conversations(int count) {
  const std::vector<std::string> pieces = {"word",
                                           "\n",
                                           " ",
                                           "<think>",
                                           "</think>",
                                           "\n\n",
                                           "{{ 1 + 1 }}",
                                           "<tool_response>",
                                           "</tool_response>",
                                           "größer 日本",
                                           "<|im_end|>"};
  RandomStream stream(11);
  std::vector<std::vector<ChatMessage>> conversations;
  for (int i = 0; i < count; ++i) {
    std::vector<ChatMessage>& messages = conversations.emplace_back();
    for (uint64_t left = 1 + stream.below(6); left > 0; --left) {
      ChatMessage& message = messages.emplace_back();
      message.role = static_cast<ChatRole>(stream.below(3));
      for (uint64_t parts = stream.below(7); parts > 0; --parts)
        message.content += pieces[stream.below(pieces.size())];
    }
  }
  return conversations;
}

}  // namespace

TEST_CASE("a conversation is written turn by turn, up to where the answer begins") {
  CHECK(chat_text({{kUser, "Hello"}}) == "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n");
  CHECK(chat_text({{kSystem, "Be brief."}, {kUser, "1+1?"}, {kAssistant, "2"}, {kUser, "And 2+2?"}}) ==
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n1+1?<|im_end|>\n"
        "<|im_start|>assistant\n2<|im_end|>\n<|im_start|>user\nAnd 2+2?<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("the reasoning of former answers is left out") {
  CHECK(chat_text({{kUser, "a"}, {kAssistant, "<think>\nhm\n</think>\n\nb"}, {kUser, "c"}}) ==
        chat_text({{kUser, "a"}, {kAssistant, "b"}, {kUser, "c"}}));
}

TEST_CASE("published prompts are turns of the template") {
  Task task;
  task.id = "t";
  task.pytorch_code = "THE MODULE\n";
  const std::string text =
      make_prompt(task, Stage::kEndToEnd, PromptStyle::kPublished, Scaffold::kPrompt).text;
  const std::string opening = "<|im_start|>user\n";
  CHECK(chat_text({{kUser, text.substr(opening.size(), text.find("<|im_end|>") - opening.size())}}) == text);
}

TEST_CASE("conversations of all kinds are those of the published template") {
  const auto published = testing::published_file("sdar-8b/chat_template.jinja");
  const testing::TemporaryFolder folder;
  nlohmann::json cases = nlohmann::json::array();
  for (const auto& messages : random_conversations(400)) {
    nlohmann::json list = nlohmann::json::array();
    for (const ChatMessage& message : messages)
      list.push_back({{"role", std::vector<const char*>{"system", "user", "assistant"}.at(
                                   static_cast<size_t>(message.role))},
                      {"content", message.content}});
    cases.push_back({{"messages", list}, {"text", chat_text(messages)}});
  }
  const auto file = folder.path() / "cases.json";
  write_file_atomically(file, cases.dump());
  testing::run_python(bicrl::testing::source_path("tests/tasks/oracle_chat_template.py"),
                      {published.string(), file.string()});
}
