#include "launch/configuration/config_documents.h"

#include "launch/learner_commands.h"
#include "reward/reward_rule.h"
#include "sandbox/service/verifier_server.h"
#include "trainer/evaluation/eval_settings.h"
#include "trainer/run/run_settings.h"
#include "trainer/update/objective/objective.h"

namespace bicrl {
namespace {

// An example names paths that do not exist, which finish() would report.
void finish_file(const ConfigSource& source, const ConfigDocument& document) {
  if (source.is_file()) document.finish();
}

void read_embedded_server(const ConfigDocument& document) {
  VerifierOptions::from_config(document.root().section("verifier").section("server"));
}

void read_training(const ConfigSource& source) {
  const ConfigDocument document = source.load();
  RunSettings::from_config(document.root(), source.path.parent_path());
  read_embedded_server(document);
  finish_file(source, document);
}

void read_evaluation(const ConfigSource& source) {
  const ConfigDocument document = source.load();
  EvalSettings::from_config(document.root(), source.path.parent_path());
  read_embedded_server(document);
  finish_file(source, document);
}

void read_generation(const ConfigSource& source) {
  const ConfigDocument document = source.load();
  read_generate_config(document.root(), source.path.parent_path());
  finish_file(source, document);
}

void read_verifier(const ConfigSource& source) {
  const ConfigDocument document = source.load();
  VerifierOptions::from_config(document.root());
  finish_file(source, document);
}

void read_reward(const ConfigSource& source) {
  if (source.is_file())
    RewardFunction::from_file(source.path, source.overrides);
  else
    RewardFunction::from_text(source.example, "example");
}

// ---- Examples: together they reach every key.

constexpr const char* kSynthesisedTraining = R"(
run: {directory: runs/example}
policy: {config: policy.json, tokenizer: tokenizer, lora: {rank: 16}}
tasks: {synthetic: {costing_bytes: 1}}
warm_up: {update: {learning_rate_decay: linear}}
stages:
  - stage: infilling
    steps: 1
    advantage: max_at_k
    curriculum: {kind: level}
    rollout: {temperature: 1}
    update: {learning_rate_decay: linear, normaliser: constant, kl_weight: 0.1}
    imitation: {updates: 1, known_share: 0.5}
trainer: {placement: split}
evaluation: {best_of: {tasks: 1}}
curation: {repair: {probability: 0.5}, refill: {informative_groups: 1, at_most: 64}}
reward: reward.yaml
)";

constexpr const char* kTrainingOnFiles = R"(
run: {directory: runs/example}
policy: {config: policy.json, tokenizer: tokenizer}
tasks: {train: [tasks.json]}
warm_up: {epochs: 1, pairs: {sources: [{file: pairs.jsonl}]}}
bench: {programs: programs.json}
rollout: {strategy: entropy_bounded}
stages: [{tasks: [tasks], reward: reward.yaml, rollout: {strategy: entropy_bounded}}]
)";

constexpr const char* kSynthesisedEvaluation = R"(
policy: {config: policy.json, tokenizer: tokenizer}
tasks: {synthetic: {costing_bytes: 1}}
)";

constexpr const char* kEvaluationOnFiles = R"(
policy: {config: policy.json, tokenizer: tokenizer}
tasks: {files: [tasks.json]}
rollout: {strategy: entropy_bounded}
)";

constexpr const char* kSuite = R"(
policy: {config: policy.json, tokenizer: tokenizer}
tasks: {files: [level1.json]}
suite: {protocol: kernelbench}
)";

constexpr const char* kGenerationForTasks = R"(
policy: {config: policy.json, tokenizer: tokenizer}
tasks: tasks.json
output: responses.jsonl
)";

constexpr const char* kGenerationForPrompts = R"(
policy: {config: policy.json, tokenizer: tokenizer}
prompts: prompts.jsonl
rollout: {strategy: entropy_bounded}
output: responses.jsonl
)";

// Of each rule, with what it reads beside other keys.
std::string reward_example(const std::string& rule) {
  std::string yaml = concat("{rule: ", rule, ", truncated: penalise");
  if (rule == "pass_rate") yaml += ", speedup_weight: 1";
  if (rule == "composite") yaml += ", rules: [{rule: speedup}]";
  return yaml + "}";
}

// Reaches an objective's own parameters.
std::string objective_example(const std::string& objective) {
  return concat("{run: {directory: runs/example}, policy: {config: policy.json, tokenizer: tokenizer}, ",
                "tasks: {train: [tasks.json]}, stages: [{update: {objective: ", objective,
                "}}], reward: reward.yaml}");
}

}  // namespace

ConfigDocument ConfigSource::load() const {
  return is_file() ? ConfigDocument::from_file(path, overrides)
                   : ConfigDocument::from_text(example, "example", overrides);
}

std::vector<ConfigDocumentKind> config_document_kinds() {
  std::vector<std::string> training = {kSynthesisedTraining, kTrainingOnFiles};
  for (const std::string& objective : objective_names()) training.push_back(objective_example(objective));
  std::vector<ConfigDocumentKind> kinds = {
      {.name = "train",
       .title = "Training",
       .introduction = "Read by `bicrl train`, `sft`, `tasks` and `doctor`. `bicrl verify` reads its section "
                       "`verifier`.",
       .examples = training,
       .read = read_training},
      {.name = "eval",
       .title = "Evaluation",
       .heading_prefix = "eval: ",
       .introduction = "Read by `bicrl eval`.",
       .examples = {kSynthesisedEvaluation, kEvaluationOnFiles, kSuite},
       .read = read_evaluation},
      {.name = "generate",
       .title = "Generation",
       .heading_prefix = "generate: ",
       .introduction = "Read by `bicrl generate`.",
       .examples = {kGenerationForTasks, kGenerationForPrompts},
       .read = read_generation},
      {.name = "verifier",
       .title = "Verifier",
       .heading_prefix = "verifier: ",
       .introduction = "Read by `bicrl verifier`.",
       .examples = {"{}"},
       .read = read_verifier}};
  for (const std::string& rule : reward_rule_names())
    kinds.push_back(
        {.name = "reward",
         .variant = rule,
         .title = concat("Reward rule `", rule, "`"),
         .heading_prefix = concat(rule, ": "),
         .introduction = "A file for `reward` or `--reward`; [rewards.md](rewards.md) explains the rules.",
         .open_section = rule == "composite" ? "rules[]" : "",
         .examples = {reward_example(rule)},
         .read = read_reward});
  return kinds;
}

}  // namespace bicrl
