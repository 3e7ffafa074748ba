// What a finished or running run's responses would have been worth under another reward.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/files/files.h"
#include "episode/episode_fields.h"
#include "episode/rescore.h"
#include "launch/learner_commands.h"
#include "trainer/experience/verdict_ledger.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

// A stage step's line of responses.jsonl.
struct StoredStep {
  AdvantageSettings advantage;
  std::vector<Episode> episodes;
  int64_t unknown = 0;  // responses that a verdict was asked for and did not come in time
};

// None if none shaped the update. A program whose verdict was lost or given up may have got one later, when
// another response had it as well: this response was left out, and is again.
std::optional<Verdict> stored_verdict(const Episode& episode, const LedgerContents& ledger) {
  const auto found = ledger.verdicts.find(episode.last().verdict_key);
  if (found == ledger.verdicts.end()) return std::nullopt;
  const Verdict& verdict = found->second.verdict;
  if (episode.reward.masked && judges_program(verdict.outcome)) return std::nullopt;
  return verdict;
}

std::vector<StoredStep> read_steps(const fs::path& run) {
  const LedgerContents ledger = read_ledger(run / "ledger");
  const fs::path file = run / "responses.jsonl";
  std::ifstream lines(file);
  if (!lines)
    throw InputError(concat("cannot read ", file.string(), ": is ", run.string(), " a run directory?"));
  std::vector<StoredStep> steps;
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      const auto json = nlohmann::json::parse(line);
      StoredStep step{.advantage = advantage_from_json(json), .episodes = {}, .unknown = 0};
      for (const auto& response : json.at("responses")) {
        Episode& episode = step.episodes.emplace_back(episode_from_json(response, EpisodeForm::kLog));
        episode.key.place = {json.at("phase").get<std::string>(), json.at("step").get<int64_t>()};
        episode.last().verdict = stored_verdict(episode, ledger);
        step.unknown += !episode.last().verdict_key.empty() && !episode.last().verdict;
      }
      steps.push_back(std::move(step));
    } catch (const std::exception& error) {
      if (lines.eof()) break;  // a run at work may be writing this line
      throw InputError(concat(file.string(), ":", number, ": ", error.what()));
    }
  }
  if (steps.empty()) throw InputError(concat(file.string(), ": no step of a stage is stored yet"));
  return steps;
}

}  // namespace

static int run_rescore_command(const LearnerCommand& command) {
  const fs::path run = command.config_path;
  const RewardFunction after = RewardFunction::from_file(command.reward_path, {}, VerdictOrigin::kStored);
  std::vector<StepComparison> comparisons;
  std::vector<Episode> all;
  int64_t unknown = 0;
  for (const StoredStep& step : read_steps(run)) {
    const auto scoring = [&](const RewardFunction* reward) {
      return Scoring{.reward = reward, .advantage = step.advantage};
    };
    const auto part = rescore(step.episodes, scoring(nullptr), scoring(&after));
    comparisons.insert(comparisons.end(), part.begin(), part.end());
    unknown += step.unknown;
    all.insert(all.end(), step.episodes.begin(), step.episodes.end());
  }
  std::cout << "before: as the run rewarded them\nafter:  " << after.rule_name() << " ("
            << command.reward_path << ")\n"
            << rescore_table(comparisons);
  if (unknown > 0)
    std::cout << "note: " << unknown << " responses had no verdict when they were rewarded (or have none in "
              << (run / "ledger").string() << " now) and are left out after\n";
  for (const std::string& gap : rescoring_gaps(all, after)) std::cout << "note: " << gap << "\n";
  std::cout << std::flush;
  return static_cast<int>(ExitCode::kOk);
}

namespace {

const LearnerCommandRegistration kRescoreRegistered("rescore", run_rescore_command);

}  // namespace
}  // namespace bicrl
