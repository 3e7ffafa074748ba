#include <ATen/Parallel.h>

#include <charconv>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/rng.h"
#include "episode/episode_pipeline.h"
#include "launch/commands/generation_progress.h"
#include "launch/learner_commands.h"
#include "launch/signals.h"
#include "rollout/decoding/decode_engine.h"
#include "rollout/prompt_tokens.h"
#include "rollout/response_file.h"
#include "tasks/chat_template.h"
#include "trainer/experience/engine_generator.h"
#include "trainer/inputs/policy_source.h"
#include "trainer/inputs/prompt_filter.h"
#include "trainer/inputs/prompt_source.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

// Keys that decide how much is generated, how fast, and where it lies, not what comes out; or where something
// lies of which the origin has the hash.
const std::vector<std::string> kFreeKeys = {"policy.checkpoint",
                                            "policy.config",
                                            "policy.tokenizer",
                                            "tasks",
                                            "prompts",
                                            "limit",
                                            "least_prompts",
                                            "samples_per_task",
                                            "threads",
                                            "rollout.max_active",
                                            "rollout.cache_tokens",
                                            "rollout.prefill_tokens",
                                            "output"};

struct GenerateSettings {
  PolicySource policy;
  PromptSource source;
  int64_t samples_per_task = 1;
  uint64_t seed = 1;
  int64_t threads = 1;
  size_t least_prompts = 1;  // that fit the policy
  DecodingSettings decoding;
  fs::path output;

  static GenerateSettings from_config(const ConfigSection& root, const fs::path& folder) {
    GenerateSettings s;
    s.policy = PolicySource::from_config(root.section("policy"), folder);
    s.policy.refuse_training(root.section("policy"));
    s.source = PromptSource::from_config(root, folder);
    s.samples_per_task = root.integer("samples_per_task", 1, 1);
    s.seed = static_cast<uint64_t>(root.integer("seed", 1, 0));
    s.threads = root.integer("threads", 1, 1, 1024);
    s.least_prompts = static_cast<size_t>(root.integer("least_prompts", 1, 0));
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

// In no more digits than it takes to read the same float again.
double in_few_digits(float value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  double wide = 0;
  std::from_chars(digits, end, wide);
  return wide;
}

nlohmann::ordered_json to_json(const Turn& turn, bool of_task) {
  const Rollout& rollout = turn.rollout;
  nlohmann::ordered_json json = {{"finish", name_of(rollout.finish)}, {"text", rollout.text}};
  if (of_task) json["program"] = turn.program;
  json["prompt_tokens"] = rollout.prompt_tokens;
  json["tokens"] = rollout.tokens;
  json["step_map"] = rollout.step_map;
  for (auto& log_probs = json["log_probs"] = nlohmann::ordered_json::array();
       const float p : rollout.log_probs)
    log_probs.push_back(in_few_digits(p));
  return json;
}

// Conversations need the tokens of turns, and responses to them should end with theirs.
void check_turns(const PromptSource& source, const std::vector<Prompt>& prompts, const Tokenizer& tokenizer,
                 const PolicyConfig& policy) {
  const auto chat =
      std::ranges::find_if(prompts, [](const Prompt& prompt) { return !prompt.answer_end.empty(); });
  if (chat == prompts.end()) return;
  const int64_t end = tokenizer.id_of(chat->answer_end);
  if (end < 0 || tokenizer.id_of(kTurnOpening) < 0)
    throw InputError(concat(source.file().string(), ": prompt ", chat->task_id,
                            " is a conversation, and the ", "tokenizer has no ", kTurnOpening, " and ",
                            kTurnClosing, " to write one with"));
  const auto& ends = policy.end_token_ids;
  if (std::ranges::find(ends, end) == ends.end())
    log_warning("responses to conversations do not stop at ", chat->answer_end,
                ", which is no end token of the policy (policy.end_tokens)");
}

// What the responses are made of: equal origins, equal responses.
ResponseOrigin origin_of(const ConfigDocument& document, const std::string& prompts_hash,
                         const Tokenizer& tokenizer, const Transformer& policy) {
  const std::string policy_hash = hash_hex({policy.config().to_json_text(), policy.store().checksum()});
  return {.yaml = concat(document.resolved_yaml(), "\ninputs:\n  policy: '", policy_hash, "'\n  tokenizer: '",
                         tokenizer.hash(), "'\n  prompts: '", prompts_hash, "'\n"),
          .free_keys = kFreeKeys};
}

// A response to each, in the order of prompts and samples.
struct AskedResponses {
  std::vector<ResponseName> names;
  std::vector<const Prompt*> prompts;

  AskedResponses(const std::vector<Prompt>& all, int64_t samples) {
    for (const Prompt& prompt : all)
      for (int64_t sample = 0; sample < samples; ++sample) {
        names.push_back({prompt.task_id, sample});
        prompts.push_back(&prompt);
      }
  }
};

// Episodes for what the file lacks, and their requests.
struct MissingResponses {
  std::vector<GenerationRequest> requests;
  std::vector<Episode> episodes;
  std::map<EpisodeKey, size_t> places;  // of their responses in the file

  MissingResponses(const AskedResponses& asked, const ResponseFile& file, const Tokenizer& tokenizer,
                   uint64_t seed) {
    int64_t group = -1;
    for (size_t i = 0; i < asked.names.size(); ++i) {
      if (i == 0 || asked.prompts[i] != asked.prompts[i - 1]) ++group;
      if (file.has(i)) continue;
      // By name and not by place, so that a response depends on nothing but its own prompt.
      const auto& [id, sample] = asked.names[i];
      requests.push_back(make_request(*asked.prompts[i], tokenizer, group,
                                      mix_key({mix_key(seed, id), static_cast<uint64_t>(sample)})));
      episodes.push_back({.key = {.group = group, .sample = sample}, .task_id = id});
      places.emplace(episodes.back().key, i);
    }
  }
};

// Generates what the file lacks. False if it was asked to stop.
bool generate_missing(const GenerateSettings& settings, const AskedResponses& asked, DecodeEngine& engine,
                      ResponseFile& file) {
  MissingResponses missing(asked, file, engine.tokenizer(), settings.seed);
  if (missing.requests.empty()) return true;
  GenerationPace pace{.responses = static_cast<int64_t>(asked.names.size()),
                      .done = static_cast<int64_t>(file.count()),
                      .max_new_tokens = settings.decoding.max_new_tokens};
  GenerationProgress progress(pace.responses, pace.done);
  const Stopwatch watch;
  EngineGenerator generator(engine, settings.decoding, std::move(missing.requests), /*policy_version=*/0,
                            [&](const DecodingStatistics& so_far) {
                              pace.generated_tokens = so_far.generated_tokens;
                              pace.seconds = watch.seconds();
                              progress.show(pace);
                              return !stop_requested();
                            });
  const auto keep = [&](Episode& episode) {
    // A file may be larger than memory: nothing is kept of what is in it.
    const Turn turn = std::exchange(episode.last(), {});
    file.add(missing.places.at(episode.key), to_json(turn, /*of_task=*/!settings.source.plain()));
    ++pace.done;
    ++pace.ended;
    pace.ended_tokens += turn.rollout.response_tokens();
  };
  const PipelineResult result =
      run_pipeline(std::move(missing.episodes), {.generator = &generator, .on_answer = keep});
  if (result.is_interrupted) return false;
  log_info(pace.ended, " responses, ", pace.generated_tokens, " tokens in ", clock_text(pace.seconds), ", ",
           to_string(pace));
  return true;
}

}  // namespace

void read_generate_config(const ConfigSection& root, const fs::path& folder) {
  GenerateSettings::from_config(root, folder);
}

static int run_generate_command(const LearnerCommand& command) {
  const ConfigDocument document = ConfigDocument::from_file(command.config_path, command.overrides);
  GenerateSettings settings =
      GenerateSettings::from_config(document.root(), fs::path(command.config_path).parent_path());
  settings.policy.verify = command.verify;
  document.finish();
  PromptList list = settings.source.load(settings.decoding.scaffold);
  std::vector<Prompt>& prompts = list.prompts;
  if (command.dry_run) {
    std::cout << document.resolved_yaml() << "\n# " << settings.source.what() << ": " << prompts.size()
              << ", responses: " << prompts.size() * settings.samples_per_task << "\n";
    for (const std::string& note : document.notes()) std::cout << "# " << note << "\n";
    return static_cast<int>(ExitCode::kOk);
  }
  for (const std::string& note : document.notes()) log_warning(note);
  check_writable(settings.output.string());
  install_stop_handler("stopping after this forward; again to end now");
  at::set_num_threads(static_cast<int>(settings.threads));
  const Tokenizer tokenizer = load_tokenizer(settings.policy);
  const Transformer policy = make_policy(settings.policy, tokenizer, settings.seed, /*local_rank=*/0);
  if (settings.source.plain()) check_turns(settings.source, prompts, tokenizer, policy.config());
  const std::string left_out = keep_fitting(prompts, settings.source.what(), settings.least_prompts,
                                            settings.decoding, tokenizer, policy.config());
  if (!left_out.empty()) log_warning(left_out);

  const AskedResponses asked(prompts, settings.samples_per_task);
  ResponseFile file(settings.output, settings.source.plain() ? "id" : "task_id", asked.names,
                    origin_of(document, list.hash, tokenizer, policy));
  if (file.count() > 0)
    log_info(settings.output.string(), " has ", file.count(), " of ", asked.names.size(), " responses");
  DecodeEngine engine(policy, tokenizer);
  if (!generate_missing(settings, asked, engine, file)) {
    file.sync();
    log_info("interrupted with ", file.count(), " of ", asked.names.size(), " responses in ",
             settings.output.string(), "; the same command goes on");
    return static_cast<int>(ExitCode::kInterrupted);
  }
  file.finish();
  log_info("all ", asked.names.size(), " responses are in ", settings.output.string());
  return static_cast<int>(ExitCode::kOk);
}

namespace {

const LearnerCommandRegistration kGenerateRegistered("generate", run_generate_command);

}  // namespace
}  // namespace bicrl
