#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/error.h"
#include "common/files/files.h"
#include "policy/tokenizer/tokenizer.h"
#include "tests/policy/tokenizer/tiny_tokenizer.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Ids = std::vector<int64_t>;
namespace fs = std::filesystem;

const fs::path kOracle = testing::source_path("tests/policy/tokenizer/oracle_tokenizer.py");

// Compares every case that the oracle wrote; stops at the first few differences, as they come in thousands.
void compare_with_cases(const Tokenizer& tokenizer, const fs::path& cases) {
  std::ifstream in(cases);
  std::string line;
  int64_t different = 0, tokens = 0, texts = 0;
  while (std::getline(in, line)) {
    const auto record = nlohmann::json::parse(line);
    const auto text = record["text"].get<std::string>();
    ++texts;
    if (record.contains("decode")) {
      const auto decoded = tokenizer.decode(record["decode"].get<Ids>(), record["skip_special"].get<bool>());
      CHECK(decoded == text);
      different += decoded != text;
    } else {
      const Ids expected = record["ids"].get<Ids>();
      const Ids ids = tokenizer.encode(text);
      tokens += static_cast<int64_t>(ids.size());
      if (ids != expected) {
        ++different;
        const auto first = static_cast<size_t>(
            std::mismatch(ids.begin(), ids.end(), expected.begin(), expected.end()).first - ids.begin());
        FAIL_CHECK("at token " << first << " of " << record["text"].dump(-1, ' ', true).substr(0, 600));
      }
    }
    REQUIRE(different < 5);
  }
  REQUIRE(texts > 1000);
  SUCCEED(texts << " texts, " << tokens << " tokens compared");
}

TEST_CASE("golden token ids of the published vocabulary") {
  const Tokenizer tokenizer =
      Tokenizer::from_folder(testing::published_file("sdar-8b/vocab.json").parent_path());
  CHECK(tokenizer.encode("Hello world") == Ids{9707, 1879});
  CHECK(tokenizer.encode(" Hello world") == Ids{21927, 1879});
  CHECK(tokenizer.encode("<|im_start|>assistant\n") == Ids{151644, 77091, 198});
  CHECK(tokenizer.encode("<|im_start|>assistant\n\n") == Ids{151644, 77091, 271});
  CHECK(tokenizer.encode(" <|im_end|>\n") == Ids{220, 151645, 198});
  CHECK(tokenizer.encode("<think>\n\n</think>\n\n") == Ids{151667, 271, 151668, 271});
  CHECK(tokenizer.encode("12345") == Ids{16, 17, 18, 19, 20});
  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.size() == 151670);
}

TEST_CASE("the mask is found under both published spellings, and by one of them in text") {
  for (const fs::path& folder : testing::sdar_tokenizers()) {
    INFO(folder);
    const Tokenizer tokenizer = Tokenizer::from_folder(folder);
    const int64_t mask = tokenizer.size() - 1;
    CHECK(tokenizer.id_of("<|MASK|>") == mask);
    CHECK(tokenizer.id_of("<MASK>") == mask);
    CHECK(tokenizer.id_of("no such token") == -1);
    CHECK(tokenizer.encode("<|MASK|>") == Ids{mask});
    CHECK(tokenizer.encode("<MASK>").size() > 1);
    CHECK(tokenizer.bytes(mask) == "<|MASK|>");
  }
}

TEST_CASE("token ids equal Hugging Face on all tasks and on difficult text") {
  for (const fs::path& vocabulary : testing::sdar_tokenizers()) {
    INFO(vocabulary);
    const testing::TemporaryFolder folder;
    const std::string cases = (folder.path() / "cases.jsonl").string();
    std::vector<std::string> args = {"qwen2", vocabulary.string(), cases};
    for (const char* name : {"end_to_end_tasks.json", "infilling_tasks.json", "kernelbench_level1.json"})
      for (const fs::path& tasks : testing::task_files(name)) args.push_back(tasks.string());
    testing::run_python(kOracle, args);
    compare_with_cases(Tokenizer::from_folder(vocabulary), cases);
  }
}

TEST_CASE("tokenizer.json of four shapes equals Hugging Face") {
  const testing::TemporaryFolder folder;
  testing::run_python(kOracle, {"json", folder.path().string()});
  for (const char* shape : {"own_regex", "whole_text", "lines", "two_splits"}) {
    INFO(shape);
    const fs::path where = folder.path() / shape;
    const Tokenizer tokenizer = Tokenizer::from_folder(where);
    CHECK(tokenizer.id_of("<|endoftext|>") == 0);
    CHECK(tokenizer.decode({tokenizer.id_of("<MASK>"), tokenizer.id_of("<think>")}, true) == "<think>");
    compare_with_cases(tokenizer, where / "cases.jsonl");
    // What is saved is the same tokenizer.
    fs::create_directory(where / "copy");
    tokenizer.save(where / "copy");
    CHECK(read_file(where / "copy/tokenizer.json") == read_file(where / "tokenizer.json"));
  }
}

TEST_CASE("ids decode to the text they came from, also byte by byte") {
  for (const fs::path& folder : testing::sdar_tokenizers()) {
    INFO(folder);
    const Tokenizer tokenizer = Tokenizer::from_folder(folder);
    const std::string text = "float4 v = in[i]; // größer 日本 👩‍👧\r\n\t<think>x</think>";
    const Ids ids = tokenizer.encode(text);
    CHECK(tokenizer.decode(ids) == text);
    std::string streamed;
    for (const int64_t id : ids) streamed += tokenizer.bytes(id);
    CHECK(streamed == text);
    // Only special tokens are left out: <think> is not special.
    CHECK(tokenizer.decode(tokenizer.encode("<think>Hello<|im_end|><|endoftext|>"), true) == "<think>Hello");
  }
}

TEST_CASE("invalid UTF-8 becomes U+FFFD in both directions") {
  const Tokenizer tokenizer = Tokenizer::from_folder(testing::sdar_tokenizers().back());
  for (const std::string bad :
       {"\xff", "\xc3", "a\xe2\x82", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xc0\xaf", "\xe2\x82x"}) {
    const std::string round = tokenizer.decode(tokenizer.encode(bad));
    CHECK(round.find("\xEF\xBF\xBD") != std::string::npos);
  }
  const Ids euro = tokenizer.encode("\u20ac\u20ac");
  std::string bytes;
  for (const int64_t id : euro) bytes += tokenizer.bytes(id);
  CHECK(bytes == "\u20ac\u20ac");
  CHECK_THROWS_AS(tokenizer.decode({tokenizer.size()}), Error);
  CHECK_THROWS_AS(tokenizer.bytes(-1), Error);
}

TEST_CASE("a pre-token of a megabyte takes no quadratic time") {
  const testing::TemporaryFolder folder;
  // Half a megabyte would take minutes if each merge rescanned the pre-token.
  const Tokenizer tokenizer = Tokenizer::from_folder(testing::sdar_tokenizers().back());
  std::string text;
  for (unsigned i = 0; i < 500'000; ++i) text += static_cast<char>('a' + i * 7919 % 997 % 26);
  CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  CHECK(tokenizer.decode(tokenizer.encode(std::string(1'000'000, ' ') + "x")).size() == 1'000'001);
}

TEST_CASE("several threads encode at once") {
  const Tokenizer tokenizer = Tokenizer::from_folder(testing::sdar_tokenizers().back());
  const std::string text = "for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; } // Σ ёж <|im_end|>";
  const Ids expected = tokenizer.encode(text);
  std::vector<std::thread> threads;
  std::vector<int> differences(4, 0);
  for (size_t t = 0; t < differences.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) differences[t] += tokenizer.encode(text) != expected;
    });
  for (auto& thread : threads) thread.join();
  CHECK(differences == std::vector<int>(4, 0));
}

// The message of the InputError that loading `folder` gives.
std::string refusal(const fs::path& folder) {
  try {
    Tokenizer::from_folder(folder);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("what a tokenizer.json asks for and we lack is refused by name") {
  const testing::TemporaryFolder folder;
  const auto attempt = [&](const nlohmann::json& document) {
    write_file_atomically(folder.path() / "tokenizer.json", document.dump());
    return refusal(folder.path());
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(attempt(testing::tiny_tokenizer_json()) == "accepted");
  struct Fault {
    const char* pointer;
    nlohmann::json value;
    const char* expected;
  };
  const std::vector<Fault> faults = {
      {"/model/type", "WordPiece", "model: type: only \"BPE\""},
      {"/model/byte_fallback", true, "byte_fallback"},
      {"/model/dropout", 0.1, "dropout"},
      {"/model/end_of_word_suffix", "</w>", "end_of_word_suffix"},
      {"/model/vocab/a", -5, "vocab: a: an id must be"},
      {"/model/vocab/a", 98, "given twice"},
      {"/model/vocab/a", "x", "vocab: a: expected an integer"},
      {"/model/merges", nlohmann::json::array({"a b c"}), "merges[0]"},
      {"/model/merges", nlohmann::json::array({"a b"}), "ab is not in the vocabulary"},
      {"/model/merges", nlohmann::json::parse(R"([["a", 1]])"), "merges[0]"},
      {"/normalizer", {{"type", "NFKC"}}, "normalizer: type: only \"NFC\""},
      {"/pre_tokenizer", {{"type", "Whitespace"}}, "pre_tokenizer: type"},
      {"/pre_tokenizer", nullptr, "pre_tokenizer"},
      {"/pre_tokenizer/add_prefix_space", true, "add_prefix_space"},
      {"/pre_tokenizer",
       {{"type", "Sequence"}, {"pretokenizers", nlohmann::json::array()}},
       "must be ByteLevel"},
      {"/decoder/type", "WordPiece", "decoder: type"},
      {"/added_tokens", {{{"id", 300}, {"content", "<x>"}, {"single_word", true}}}, "single_word"},
      {"/added_tokens", {{{"id", 97}, {"content", "<x>"}}}, "id 97 is taken"},
      {"/added_tokens", {{{"id", 300}, {"content", "a"}}}, "has ids 300 and 97"},
      {"/added_tokens", {{{"id", 300}, {"content", ""}}}, "must not be empty"},
      {"/added_tokens", {{{"id", 1 << 30}, {"content", "<x>"}}}, "an id must be"},
  };
  for (const auto& fault : faults) {
    nlohmann::json document = testing::tiny_tokenizer_json();
    document[nlohmann::json::json_pointer(fault.pointer)] = fault.value;
    const std::string message = attempt(document);
    INFO(fault.pointer << ": " << message);
    CHECK(contains(message, fault.expected));
    CHECK(contains(message, "tokenizer.json"));
  }
  nlohmann::json hole = testing::tiny_tokenizer_json();
  hole["model"]["vocab"].erase("a");
  CHECK(contains(attempt(hole), "no token for byte 97"));
  for (const char* pattern : {"(", "a*", "[\\S]"}) {
    nlohmann::json split = testing::tiny_tokenizer_json();
    split["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}},
          {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
    CHECK(contains(attempt(split), "split pattern"));
  }
  write_file_atomically(folder.path() / "tokenizer.json", "{\"model\": ");
  CHECK(contains(refusal(folder.path()), "not valid JSON"));
  const testing::TemporaryFolder empty;
  CHECK(contains(refusal(empty.path()), "neither tokenizer.json nor vocab.json"));
}

}  // namespace
}  // namespace bicrl
