// Prompts as turns of a conversation: what is written as turns holds no chat template.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "curation/form.h"
#include "curation/turns.h"
#include "tests/curation/pipelines.h"

namespace bicrl::curation {
namespace {

constexpr ChatRole kSystem = ChatRole::kSystem, kUser = ChatRole::kUser, kAssistant = ChatRole::kAssistant;

// An answer with reasoning to a task, as ConCuR has it.
Record answered_task() {
  Record record = form_named("concur").read({{"uuid", "u"},
                                             {"problem_name", "n"},
                                             {"pytorch_code", module_named("# task")},
                                             {"generated_think", "Short."},
                                             {"generated_code", "class ModelNew: pass\n"},
                                             {"speedup_over_eager", 2.0}});
  record.id = "a";
  return record;
}

std::string text_of_turns(const std::vector<ChatMessage>& turns) { return turns_to_json(turns).dump(); }

TEST_CASE("turns of a prompt are those that the chat template makes it of") {
  for (const std::vector<ChatMessage>& turns :
       {std::vector<ChatMessage>{{kUser, "Write it."}},
        {{kSystem, "Be brief.\n"}, {kUser, ""}},
        {{kUser, "Write it."}, {kAssistant, "It is written.\n"}, {kUser, "Again.\n\n"}}})
    CHECK(text_of_turns(turns_of_prompt(chat_text(turns))) == text_of_turns(turns));
  for (const std::string text :
       {"", "Write it.", "<|im_start|>user\nWrite it.", "<|im_start|>user\nWrite it.<|im_end|>\n",
        "<|im_start|>judge\nWrite it.<|im_end|>\n<|im_start|>assistant\n", "<|im_start|>assistant\n",
        "Now: <|im_start|>user\nWrite it.<|im_end|>\n<|im_start|>assistant\n"})
    CHECK(text_of_turns(turns_of_prompt(text)) == text_of_turns({{kUser, text}}));
}

TEST_CASE("messages of a task's answer give the prompt that its pair has") {
  const Record record = answered_task();
  const auto pair = form_named("pairs").write(record, {}), entry = form_named("messages").write(record, {});
  // As supervised training reads them.
  std::vector<ChatMessage> turns = chat_messages(entry["messages"]);
  for (const ChatMessage& turn : turns) CHECK(turn.content.find("<|im_") == std::string::npos);
  CHECK(turns.back().content == pair["response"]);
  turns.pop_back();
  CHECK(chat_text(turns) == pair["prompt"]);
  // A pair that was loaded becomes the same conversation.
  Record loaded = form_named("pairs").read(pair);
  loaded.id = "a";
  CHECK(form_named("messages").write(loaded, {})["messages"] == entry["messages"]);
  CHECK(form_named("pairs").write(loaded, {})["prompt"] == pair["prompt"]);
}

TEST_CASE("response with reasoning has one reasoning part in any style") {
  for (const char* style : {"published", "dice"}) {
    INFO(style);
    WritingOptions options;
    options.style = parse_prompt_style(style);
    CHECK(form_named("pairs").write(answered_task(), options)["response"] ==
          "<think>\nShort.\n</think>\n\n```python\nclass ModelNew: pass\n```");
  }
}

TEST_CASE("turns of a task hold no chat template in any style") {
  const Record record = answered_task();
  for (const std::string& style : prompt_style_names()) {
    INFO(style);
    WritingOptions options;
    options.style = parse_prompt_style(style);
    for (const auto& [form, field] : {std::pair("messages", "messages"), {"verl", "prompt"}}) {
      const auto turns = form_named(form).write(record, options)[field];
      CHECK(turns[0]["content"].get<std::string>().find("<|im_") == std::string::npos);
      CHECK(turns[0]["content"].get<std::string>().find("# task") != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace bicrl::curation
