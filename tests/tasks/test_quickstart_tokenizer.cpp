#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "common/files.h"
#include "policy/tokenizer.h"
#include "tasks/prompt.h"
#include "tasks/synthesiser.h"
#include "tasks/synthetic_program.h"
#include "tasks/task_set.h"
#include "tests/support/support.h"

using namespace bicrl;

namespace {

const std::filesystem::path kFolder = std::filesystem::path(BICRL_SOURCE_DIR) / "configs" / "quickstart";

// What the tokenizer is trained on: the quickstart's tasks with more variants, so that every constant and
// shape occurs.
SyntheticTasks corpus() {
  SynthesisOptions options;
  options.variants = 4;
  return synthesise(options);
}

}  // namespace

TEST_CASE("the checked-in tokenizer is what its script makes of the synthesised tasks", "[tokenizer]") {
  const bicrl::testing::TemporaryFolder folder;
  const auto tasks = folder.path() / "corpus.jsonl", pieces = folder.path() / "pieces.json";
  save_tasks(tasks, corpus().train);
  write_file_atomically(pieces, nlohmann::json(program_pieces()).dump());
  const bool renew = std::getenv("BICRL_RENEW_TOKENIZER") != nullptr;
  bicrl::testing::run_python(kFolder / "train_tokenizer.py",
                             {renew ? "train" : "check", tasks.string(), pieces.string(), kFolder.string()});
}

TEST_CASE("the quickstart's tokenizer writes short prompts and programs with clean seams", "[tokenizer]") {
  const bicrl::testing::TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::from_folder(kFolder);
  auto list = nlohmann::json::array();
  const auto& [train, held_out] = corpus();
  for (const auto* tasks : {&train, &held_out}) {
    for (const Task& task : *tasks) {
      const auto prompt = [&](Stage stage, Scaffold scaffold) {
        return make_prompt(task, stage, PromptStyle::kCompact, scaffold);
      };
      const Prompt clamped = prompt(Stage::kInfilling, Scaffold::kClamp);
      const size_t body = clamped.clamp_prefix.size();
      const size_t end = task.cuda_code.find(clamped.clamp_delimiter, body);
      const std::map<std::string, std::string> texts = {
          {"end_to_end", prompt(Stage::kEndToEnd, Scaffold::kClamp).text},
          {"infilling", clamped.text},
          {"infilling_prompt", prompt(Stage::kInfilling, Scaffold::kPrompt).text},
          {"program", task.cuda_code},
          {"middle", task.middle},
          {"clamp_prefix", clamped.clamp_prefix},
          {"body", task.cuda_code.substr(body, end - body)},
          {"delimiter", clamped.clamp_delimiter},
          {"clamp_suffix", clamped.clamp_suffix}};
      std::map<std::string, std::vector<int64_t>> ids;
      for (const auto& [name, text] : texts) ids[name] = tokenizer.encode(text);
      list.push_back({{"texts", texts}, {"ids", ids}});
    }
  }
  write_file_atomically(folder.path() / "texts.json", list.dump());
  bicrl::testing::run_python(std::string(BICRL_SOURCE_DIR) + "/tests/tasks/oracle_tokenizer.py",
                             {(folder.path() / "texts.json").string(), kFolder.string()});
}
