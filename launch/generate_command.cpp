#include <ATen/Parallel.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/files.h"
#include "common/log.h"
#include "common/rng.h"
#include "launch/learner_commands.h"
#include "rollout/decode_engine.h"
#include "rollout/prompt_tokens.h"
#include "tasks/task_set.h"
#include "trainer/inputs/existing_path.h"
#include "trainer/inputs/policy_source.h"
#include "trainer/inputs/prompt_filter.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

struct GenerateSettings {
  PolicySource policy;
  fs::path tasks;
  int64_t limit = 0;  // of tasks; 0: all
  Stage stage = Stage::kEndToEnd;
  PromptStyle prompt_style = PromptStyle::kPublished;
  int64_t samples_per_task = 1;
  uint64_t seed = 1;
  int64_t threads = 1;
  DecodingSettings decoding;
  fs::path output;

  static GenerateSettings from_config(const ConfigSection& root, const fs::path& folder) {
    GenerateSettings s;
    s.policy = PolicySource::from_config(root.section("policy"), folder);
    s.policy.refuse_training(root.section("policy"));
    s.tasks = existing_path(root, "tasks", root.required_text("tasks"), folder);
    s.limit = root.integer("limit", 0, 0);
    s.stage = parse_stage(root.choice("stage", "end_to_end", {"infilling", "end_to_end"}));
    s.prompt_style = parse_prompt_style(root.choice("prompt_style", "published", prompt_style_names()));
    s.samples_per_task = root.integer("samples_per_task", 1, 1);
    s.seed = static_cast<uint64_t>(root.integer("seed", 1, 0));
    s.threads = root.integer("threads", 1, 1, 1024);
    s.decoding = DecodingSettings::from_config(root.section("rollout"));
    if (s.decoding.sampling.temperature == 0 && s.samples_per_task > 1)
      root.reject("samples_per_task",
                  "has no effect at temperature 0: every sample of a task would be the same");
    s.output = root.required_text("output");
    return s;
  }
};

const char* name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEndToken:
      return "end_token";
    case FinishReason::kDelimiter:
      return "delimiter";
    case FinishReason::kTokenLimit:
      return "token_limit";
  }
  return "";
}

nlohmann::json to_json(const Rollout& rollout) {
  return {{"task_id", rollout.task_id},   {"program", extract_program(rollout.text)},
          {"text", rollout.text},         {"finish", name_of(rollout.finish)},
          {"tokens", rollout.tokens},     {"prompt_tokens", rollout.prompt_tokens},
          {"step_map", rollout.step_map}, {"log_probs", rollout.log_probs}};
}

}  // namespace

int run_generate_command(const LearnerCommand& command) {
  const ConfigDocument document = ConfigDocument::from_file(command.config_path, command.overrides);
  const GenerateSettings settings =
      GenerateSettings::from_config(document.root(), fs::path(command.config_path).parent_path());
  document.finish();
  if (command.dry_run) {
    std::cout << document.resolved_yaml();
    return static_cast<int>(ExitCode::kOk);
  }
  at::set_num_threads(static_cast<int>(settings.threads));
  std::vector<Task> tasks = load_tasks(settings.tasks);
  if (settings.limit > 0 && static_cast<int64_t>(tasks.size()) > settings.limit) tasks.resize(settings.limit);
  const Tokenizer tokenizer = load_tokenizer(settings.policy);
  const Transformer policy = make_policy(settings.policy, tokenizer, settings.seed, /*local_rank=*/0);
  const std::string left_out = keep_fitting(
      tasks, "tasks", {settings.stage, settings.prompt_style, settings.decoding}, tokenizer, policy.config());
  if (!left_out.empty()) log_warning(left_out);
  std::vector<GenerationRequest> requests;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Prompt prompt =
        make_prompt(tasks[i], settings.stage, settings.prompt_style, settings.decoding.scaffold);
    for (int64_t sample = 0; sample < settings.samples_per_task; ++sample)
      requests.push_back(make_request(prompt, tokenizer, static_cast<int64_t>(i),
                                      mix_key({settings.seed, i, static_cast<uint64_t>(sample)})));
  }
  std::vector<std::string> lines(requests.size());
  size_t finished = 0;
  DecodeEngine engine(policy, tokenizer);
  const DecodingStatistics statistics =
      engine.generate(settings.decoding, requests, /*policy_version=*/0, [&](size_t index, Rollout rollout) {
        lines[index] = to_json(rollout).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
        if (++finished % 100 == 0) log_info(finished, " of ", requests.size(), " responses");
      });
  std::string text;
  for (const std::string& line : lines) text += line;
  write_file_atomically(settings.output, text);
  log_info(requests.size(), " responses, ", statistics.generated_tokens, " tokens in ", statistics.seconds,
           " s; written to ", settings.output.string());
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace bicrl
