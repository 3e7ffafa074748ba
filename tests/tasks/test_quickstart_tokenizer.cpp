#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "policy/tokenizer/tokenizer.h"
#include "tasks/prompt.h"
#include "tasks/synthetic/synthesiser.h"
#include "tasks/synthetic/synthetic_module.h"
#include "tasks/synthetic/synthetic_pieces.h"
#include "tasks/task_set.h"
#include "tests/support/support.h"

using namespace bicrl;

namespace {

const std::filesystem::path kFolder = bicrl::testing::source_path("configs/quickstart");

// What the tokenizer is trained on: tasks like the quickstart's, with more variants, so that every constant
// and shape occurs.
SyntheticTasks corpus() {
  SynthesisOptions options;
  options.variants = 4;
  options.costing_bytes = int64_t{3} << 20;
  options.costing_repeats = 8;
  return synthesise(options);
}

}  // namespace

TEST_CASE("the checked-in tokenizer is what its script makes of the synthesised tasks", "[tokenizer]") {
  const bicrl::testing::TemporaryFolder folder;
  const auto tasks = folder.path() / "corpus.jsonl", pieces_file = folder.path() / "pieces.json";
  save_tasks(tasks, corpus().train);
  std::vector<std::string_view> all = {pieces::kModule,    pieces::kForward,       pieces::kForwardOfTwo,
                                       pieces::kReturn,    pieces::kCostingInputs, pieces::kCostingRepeats,
                                       pieces::kInitInputs};
  for (const std::string_view piece : pieces::of_programs())
    if (std::ranges::find(all, piece) == all.end()) all.push_back(piece);
  write_file_atomically(pieces_file, nlohmann::json(all).dump());
  const bool renew = std::getenv("BICRL_RENEW_TOKENIZER") != nullptr;
  bicrl::testing::run_python(kFolder / "train_tokenizer.py", {renew ? "train" : "check", tasks.string(),
                                                              pieces_file.string(), kFolder.string()});
}

TEST_CASE("the quickstart's tokenizer writes short prompts and programs with clean seams", "[tokenizer]") {
  const bicrl::testing::TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::from_folder(kFolder);
  auto list = nlohmann::json::array();
  const auto& [train, development, test] = corpus();
  for (const auto* tasks : {&train, &development, &test}) {
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
  bicrl::testing::run_python(bicrl::testing::source_path("tests/tasks/oracle_quickstart_tokens.py"),
                             {(folder.path() / "texts.json").string(), kFolder.string()});
}
