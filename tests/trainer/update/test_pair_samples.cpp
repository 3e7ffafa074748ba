// Supervised samples of pairs: what is read of their files, what is trained, and in which order.
#include "tests/trainer/fixtures.h"
#include "tests/trainer/small_steps.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"
#include "trainer/inputs/pair_epochs.h"
#include "trainer/update/packing/pair_samples.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

PolicyConfig policy_config() {
  PolicyConfig config = tiny_config(4);
  config.vocab_size = tokenizer().size() + 2;
  config.mask_token_id = config.vocab_size - 1;
  config.end_token_ids = {config.vocab_size - 2};
  config.max_position = 512;
  return config;
}

class Files {
 public:
  PairSettings::Source write(const std::string& text, double weight = 1) {
    const auto path = folder_.path() / concat(++count_, ".jsonl");
    write_file_atomically(path, text);
    return {path, weight};
  }

 private:
  TemporaryFolder folder_;
  int count_ = 0;
};

std::vector<TrainingPair> pairs_of(const std::string& text, PromptStyle style, PairSettings settings = {}) {
  Files files;
  settings.sources = {files.write(text)};
  return load_pairs(settings, style).at(0).pairs;
}

std::string numbered(int count, int from = 0) {
  std::string text;
  for (int i = from; i < from + count; ++i)
    text += concat(R"({"prompt": "p)", i, R"(", "response": "r)", i, "\"}\n");
  return text;
}

PairSamples shuffled(const std::vector<PairSet>& sets, const PairSettings& settings, uint64_t key) {
  PairSamples samples(sets, settings, tokenizer(), policy_config());
  samples.shuffle_by(key);
  return samples;
}

// Of the samples of an epoch, in the order in which its steps take them.
std::vector<std::vector<int64_t>> taken_in(PairSamples& samples, const PairEpochs& epochs, int64_t epoch) {
  std::vector<std::vector<int64_t>> taken;
  for (int64_t step = (epoch - 1) * epochs.steps_per_epoch() + 1; step <= epoch * epochs.steps_per_epoch();
       ++step)
    for (int64_t i = 0; i < epochs.samples_of(step).count; ++i)
      taken.push_back(samples.sample(epochs.samples_of(step).first + i).tokens);
  return taken;
}

}  // namespace

TEST_CASE("pairs and conversations become what the policy reads and writes") {
  const auto compact = pairs_of(R"([{"prompt": "ask", "response": "answer"}])", PromptStyle::kCompact);
  CHECK(compact.at(0).prompt == "ask");
  CHECK(compact.at(0).answer == "answer");
  CHECK_FALSE(compact.at(0).ends_turn);
  const std::string turn = "<|im_start|>user\nask<|im_end|>\n<|im_start|>assistant\n";
  const auto chat = pairs_of(R"({"prompt": "ask", "response": "answer"})", PromptStyle::kPublished);
  CHECK(chat.at(0).prompt == turn);
  CHECK(chat.at(0).ends_turn);
  const auto whole = pairs_of(
      R"({"prompt": "<|im_start|>user\nask<|im_end|>\n<|im_start|>assistant\n", "response": "answer"})",
      PromptStyle::kPublished);
  CHECK(whole.at(0).prompt == turn);
  const auto dice = pairs_of(R"({"prompt": "ask", "response": "answer"})", PromptStyle::kDice);
  CHECK(dice.at(0).reasoning + dice.at(0).answer == "<think>\n\n</think>\n\nanswer");
  const auto messages = pairs_of(
      R"({"messages": [{"role": "user", "content": "ask"}, {"role": "assistant", "content": "<think>\nhm\n</think>\nyes"}]})",
      PromptStyle::kCompact);
  CHECK(messages.at(0).prompt == turn);
  CHECK(messages.at(0).reasoning == "<think>\nhm\n</think>");
  CHECK(messages.at(0).answer == "\nyes");
}

TEST_CASE("a reasoning part is found behind blanks, without its opening, and by marks of one's own") {
  const auto parts = [](const std::string& response, PairSettings settings = {},
                        PromptStyle style = PromptStyle::kCompact) {
    const auto pairs =
        pairs_of(nlohmann::json{{"prompt", "ask"}, {"response", response}}.dump(), style, settings);
    return std::pair(pairs.at(0).reasoning, pairs.at(0).answer);
  };
  using Parts = std::pair<std::string, std::string>;
  CHECK(parts("\n<think>hm</think>yes") == Parts("\n<think>hm</think>", "yes"));
  CHECK(parts("hm</think>yes") == Parts("hm</think>", "yes"));
  CHECK(parts("yes, <think>no</think>") == Parts("", "yes, <think>no</think>"));
  PairSettings own;
  own.marks = {"<reason>", "</reason>"};
  CHECK(parts("<reason>hm</reason>yes", own, PromptStyle::kDice) == Parts("<reason>hm</reason>", "yes"));
  CHECK(parts("yes", own, PromptStyle::kDice) == Parts("<reason>\n\n</reason>", "\n\nyes"));
  own.marks = {"", ""};
  CHECK(parts("<think>hm</think>yes", own) == Parts("", "<think>hm</think>yes"));
}

TEST_CASE("entries that are no pairs are named") {
  const auto fails = [](const std::string& text, const std::string& words) {
    CHECK_THROWS_WITH(pairs_of(text, PromptStyle::kCompact), ContainsSubstring(words));
  };
  fails("{\"prompt\": \"a\", \"response\": \"b\"}\n{\"prompt\": \"a\"}\n", "entry 2: response: missing");
  fails(R"({"prompt": "a", "response": ""})", "entry 1: the response is empty");
  fails(R"({"prompt": 3, "response": "b"})", "prompt: must be a text");
  fails(R"({"prompt": "a", "response": "<think> and no end"})", "has no </think>");
  fails(R"({"prompt": "a", "response": "<think>plan</think> \n"})", "nothing behind its reasoning");
  fails(R"({"prompt": "about <|im_start|>", "response": "b"})", "prompt: holds <|im_start|>");
  fails(R"({"prompt": "<|im_start|>user\nask<|im_end|>\n", "response": "b"})", "prompt: holds <|im_start|>");
  fails(R"({"prompt": "a", "response": "b<|im_end|>\n<|im_start|>user\nc"})", "response: holds <|im_start|>");
  fails(R"({"messages": [{"role": "user", "content": "a"}]})", "must end with an answer");
  fails(R"({"messages": [{"role": "robot", "content": "a"}]})",
        "entry 1: messages: 1: role: must be system, user or assistant, found 'robot'");
  fails("{\"prompt\": \"a\", \"response\": \"b\"}\nno json\n", "entry 2");
  fails("", "has no pairs");
}

TEST_CASE("the response alone is trained, reasoning if it is asked for") {
  const std::string text = R"({"prompt": "ask", "response": "<think>hm</think>yes"})";
  Files files;
  PairSettings settings;
  settings.sources = {files.write(text)};
  const PolicyConfig config = policy_config();
  const auto sets = load_pairs(settings, PromptStyle::kCompact);
  const SftSample both = PairSamples(sets, settings, tokenizer(), config).sample(0);
  settings.trains_reasoning = false;
  const SftSample answer = PairSamples(sets, settings, tokenizer(), config).sample(0);
  CHECK(both.prompt_tokens == std::ssize(tokenizer().encode("ask")));
  CHECK(both.response_tokens == std::ssize(tokenizer().encode("<think>hm</think>yes")) + 1);
  CHECK(answer.prompt_tokens ==
        std::ssize(tokenizer().encode("ask")) + std::ssize(tokenizer().encode("<think>hm</think>")));
  CHECK(answer.response_tokens == std::ssize(tokenizer().encode("yes")) + 1);
  for (const SftSample& s : {both, answer})
    CHECK(s.tokens.at(static_cast<size_t>(s.prompt_tokens + s.response_tokens - 1)) ==
          config.end_token_ids[0]);
}

TEST_CASE("every pair is drawn once a round, in another order each time, and by weight") {
  Files files;
  PairSettings settings;
  settings.sources = {files.write(numbered(5)), files.write(numbered(10), 2)};
  const auto sets = load_pairs(settings, PromptStyle::kCompact);
  PairSamples samples = shuffled(sets, settings, 7);
  CHECK(samples.size() == 15);
  std::map<std::vector<int64_t>, int> drawn;
  std::vector<std::vector<int64_t>> order;
  for (int64_t i = 0; i < 50; ++i) {
    order.push_back(samples.sample(i).tokens);
    ++drawn[order.back()];
  }
  // Of 50, 10 are of the first file's 5 and 40 of the second one's 10, which share 5 texts.
  CHECK(drawn.size() == 10);
  for (const auto& [tokens, count] : drawn) CHECK((count == 4 || count == 6));
  std::set<uint64_t> noise;
  PairSamples again = shuffled(sets, settings, 7), other = shuffled(sets, settings, 8);
  bool is_other_order = false;
  for (int64_t i : {49, 3, 20, 0}) {
    CHECK(again.sample(i).tokens == order[static_cast<size_t>(i)]);
    noise.insert(again.sample(i).noise_key);
  }
  for (int64_t i = 0; i < 10; ++i) is_other_order |= other.sample(i).tokens != order[static_cast<size_t>(i)];
  CHECK(is_other_order);
  CHECK(noise.size() == 4);
}

TEST_CASE("each round of a file has every pair once, and an order of its own") {
  Files files;
  PairSettings settings;
  settings.sources = {files.write(numbered(12))};
  PairSamples samples = shuffled(load_pairs(settings, PromptStyle::kCompact), settings, 7);
  std::vector<std::vector<int64_t>> rounds[2];
  for (int64_t i = 0; i < 24; ++i) rounds[i / 12].push_back(samples.sample(i).tokens);
  CHECK(rounds[0] != rounds[1]);
  CHECK(std::set(rounds[0].begin(), rounds[0].end()).size() == 12);
  CHECK(std::set(rounds[0].begin(), rounds[0].end()) == std::set(rounds[1].begin(), rounds[1].end()));
}

TEST_CASE("steps of an epoch take every pair once, of several files as well") {
  Files files;
  PairSettings settings;
  settings.sources = {files.write(numbered(7)), files.write(numbered(13, 7)), files.write(numbered(3, 20))};
  PairSamples samples = shuffled(load_pairs(settings, PromptStyle::kCompact), settings, 7);
  for (const int64_t samples_per_step : {1, 4, 22, 23, 100}) {
    const PairEpochs epochs{.pairs = samples.size(), .samples_per_step = samples_per_step};
    std::vector<std::vector<int64_t>> before;
    for (int64_t epoch = 1; epoch <= 4; ++epoch) {
      const auto taken = taken_in(samples, epochs, epoch);
      CAPTURE(samples_per_step, epoch);
      CHECK(taken.size() == 23);
      CHECK(std::set(taken.begin(), taken.end()).size() == 23);
      CHECK(taken != before);
      before = taken;
    }
  }
}

TEST_CASE("numbers of samples of an epoch's steps differ by at most one and keep to what is asked") {
  for (const int64_t pairs : {1, 31, 32, 33, 6303})
    for (const int64_t samples_per_step : {1, 32, 7000}) {
      const PairEpochs epochs{.pairs = pairs, .samples_per_step = samples_per_step};
      const int64_t steps = epochs.steps_per_epoch();
      CAPTURE(pairs, samples_per_step);
      CHECK(steps == (pairs + samples_per_step - 1) / samples_per_step);
      int64_t next = 0;
      for (int64_t step = 1; step <= 2 * steps; ++step) {
        const PairEpochs::Samples taken = epochs.samples_of(step);
        CHECK(taken.first == next);
        CHECK((taken.count == pairs / steps || taken.count == pairs / steps + 1));
        CHECK(taken.count <= samples_per_step);
        next += taken.count;
        if (step == steps) CHECK(next == pairs);
      }
      CHECK(next == 2 * pairs);
    }
}

TEST_CASE("weights say how often an epoch draws the pairs of each file") {
  Files files;
  PairSettings settings;
  settings.sources = {files.write(numbered(5)), files.write(numbered(10, 5), 2)};
  PairSamples samples = shuffled(load_pairs(settings, PromptStyle::kCompact), settings, 7);
  const auto rates = samples.rates();
  CHECK(rates.at(0).draws == Catch::Approx(0.6));
  CHECK(rates.at(1).draws == Catch::Approx(1.2));
  // Five epochs are three rounds of the first file and six of the second.
  std::map<std::vector<int64_t>, int> drawn;
  for (int64_t epoch = 1; epoch <= 5; ++epoch)
    for (const auto& tokens : taken_in(samples, {.pairs = 15, .samples_per_step = 4}, epoch)) ++drawn[tokens];
  std::map<int, int> counts;
  for (const auto& [tokens, count] : drawn) ++counts[count];
  CHECK(counts == std::map<int, int>{{3, 5}, {6, 10}});
}

TEST_CASE("pairs that are too long are left out, and a file of them is refused") {
  Files files;
  PairSettings settings;
  settings.sources = {files.write(
      R"({"prompt": "ask", "response": "a"})"
      "\n"
      R"({"prompt": "ask", "response": "a long answer of many more tokens than the other one"})")};
  settings.max_tokens = 8;
  const auto sets = load_pairs(settings, PromptStyle::kCompact);
  const PairSamples samples(sets, settings, tokenizer(), policy_config());
  CHECK(samples.size() == 1);
  CHECK(samples.left_out() == 1);
  settings.max_tokens = 2;
  CHECK_THROWS_WITH(PairSamples(sets, settings, tokenizer(), policy_config()),
                    ContainsSubstring("all of its pairs have more than 2 tokens"));
}

TEST_CASE("a response with the mask token is refused by its place") {
  Files files;
  PairSettings settings;
  settings.sources = {files.write(R"({"prompt": "ask", "response": "a"})"
                                  "\n"
                                  R"({"prompt": "ask", "response": "ab"})")};
  PolicyConfig config = policy_config();
  config.mask_token_id = tokenizer().encode("ab").back();
  CHECK_THROWS_WITH(PairSamples(load_pairs(settings, PromptStyle::kCompact), settings, tokenizer(), config),
                    ContainsSubstring("pair 2: the response holds the policy's mask token"));
}

TEST_CASE("the hash of pairs is that of their texts and weights") {
  Files files;
  PairSettings settings, other;
  settings.sources = {files.write(numbered(3))};
  other.sources = {files.write(numbered(4))};
  const std::string hash = hash_of(load_pairs(settings, PromptStyle::kCompact));
  CHECK(hash == hash_of(load_pairs(settings, PromptStyle::kCompact)));
  CHECK(hash != hash_of(load_pairs(other, PromptStyle::kCompact)));
  settings.sources[0].weight = 2;
  CHECK(hash != hash_of(load_pairs(settings, PromptStyle::kCompact)));
}
