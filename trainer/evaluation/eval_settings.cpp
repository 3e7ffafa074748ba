#include "trainer/evaluation/eval_settings.h"

#include <algorithm>

#include "common/log.h"
#include "common/rng.h"
#include "trainer/inputs/existing_path.h"
#include "trainer/inputs/task_pool.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kUnlimited = 1'000'000'000;
constexpr std::string_view kSamplesStream = "eval";

void read_files(const ConfigSection& section, const fs::path& folder, TaskSource& source) {
  for (const std::string& text : section.texts("files"))
    source.held_out_files.push_back(existing_path(section, "files", text, folder));
}

// A suite's problems; `asked`: a policy is.
TaskSource suite_tasks_from(const ConfigSection& section, const fs::path& folder, bool asked) {
  TaskSource source;
  read_files(section, folder, source);
  if (source.held_out_files.empty())
    section.reject("files", "names the suite's task files, and there are none");
  for (const char* key : {"synthetic", "split", "strict"})
    section.refuse_without_effect(key, "with a suite, all of whose problems in `files` count");
  if (!asked) section.refuse_without_effect("prompt_style", "with `suite.programs`");
  if (asked)
    source.prompt_style = parse_prompt_style(section.choice("prompt_style", "compact", prompt_style_names()));
  return source;
}

TaskSource tasks_from(const ConfigSection& section, const fs::path& folder) {
  TaskSource source;
  section.prefer_overridden({"files", "synthetic"});
  read_files(section, folder, source);
  if (section.has("synthetic") == !source.held_out_files.empty())
    section.reject("files", "tasks come either from `synthetic` options or from `files`");
  if (section.has("synthetic")) {
    source.synthetic = SynthesisOptions::from_config(section.section("synthetic"));
    section.refuse_without_effect("strict", "with `synthetic` tasks");
  } else {
    source.strict = section.boolean("strict", true);
  }
  source.prompt_style = parse_prompt_style(section.choice("prompt_style", "compact", prompt_style_names()));
  return source;
}

std::vector<int64_t> ks_from(const ConfigSection& root, int64_t samples_per_task) {
  std::vector<int64_t> ks = root.integers("pass_at_k", {1}, 1, kUnlimited);
  std::sort(ks.begin(), ks.end());
  if (const auto twice = std::adjacent_find(ks.begin(), ks.end()); twice != ks.end())
    root.reject("pass_at_k", concat(*twice, " appears twice"));
  if (!ks.empty() && ks.back() > samples_per_task)
    root.reject("pass_at_k", concat("pass@", ks.back(), " needs at least ", ks.back(),
                                    " samples a task, and samples_per_task is ", samples_per_task));
  return ks;
}

// Of a policy's responses.
void read_generation(const ConfigSection& root, const fs::path& config_folder, EvalSettings& s) {
  s.policy = PolicySource::from_config(root.section("policy"), config_folder);
  s.policy.refuse_training(root.section("policy"));
  s.stage = parse_stage(root.choice("stage", "end_to_end", {"infilling", "end_to_end"}));
  if (s.suite && s.stage != Stage::kEndToEnd) root.reject("stage", "a suite's problems are asked end to end");
  s.samples_per_task = root.integer("samples_per_task", 1, 1, 1'000'000);
  s.seed = static_cast<uint64_t>(root.integer("seed", 1, 0));
  s.threads_per_rank = root.integer("threads_per_rank", 1, 1, 1024);
  s.decoding = DecodingSettings::from_config(root.section("rollout"));
  if (s.greedy() && s.samples_per_task > 1)
    root.reject("samples_per_task",
                "greedy responses to a task (rollout.temperature is 0) are all equal: one is enough");
  s.responses_file = root.text("responses", "");
  s.quarantine = QuarantineSettings::from_config(root.section("quarantine"));
}

}  // namespace

EvalSettings EvalSettings::from_config(const ConfigSection& root, const fs::path& config_folder) {
  EvalSettings s;
  if (root.has("suite")) s.suite = SuiteSettings::from_config(root, config_folder);
  const bool generates = !s.suite || s.suite->programs.empty();
  if (generates) read_generation(root, config_folder, s);
  const ConfigSection tasks = root.section("tasks");
  s.tasks = s.suite ? suite_tasks_from(tasks, config_folder, generates) : tasks_from(tasks, config_folder);
  if (s.tasks.synthetic) {
    s.tasks.split = split_from(tasks, *s.tasks.synthetic,
                               {SyntheticSplit::kDevelopment, SyntheticSplit::kTest, SyntheticSplit::kTrain});
  } else if (!s.suite) {
    tasks.refuse_without_effect("split", "with `files`, all of which are asked");
  }
  if (generates && s.stage == Stage::kInfilling && s.decoding.scaffold == Scaffold::kClamp)
    s.tasks.use = TaskUse::kClampedInfilling;
  s.task_limit = tasks.integer("limit", 0, 0, kUnlimited);
  s.pass_at_k = ks_from(root, generates ? s.samples_per_task : kUnlimited);
  s.confidence = root.real("confidence", s.confidence, 0.5, 0.9999);
  s.bootstrap_resamples = root.integer("bootstrap_resamples", s.bootstrap_resamples, 100, 1'000'000);
  s.max_unverified_share = root.real("max_unverified_share", s.max_unverified_share, 0, 1);
  s.verifier = VerifierClientOptions::from_config(root.section("verifier"));
  if (s.suite && s.suite->protocol == SuiteProtocol::kKernelBench && !s.verifier.addresses.empty())
    root.section("verifier").reject("addresses", "with `suite.protocol: kernelbench` no verifier is asked");
  if (!s.suite || s.suite->protocol == SuiteProtocol::kNative)
    s.verifier.protocol.measure_time = root.boolean("measure_time", false);
  return s;
}

ScoringSettings EvalSettings::scoring() const {
  return {.stage = stage,
          .prompt_style = tasks.prompt_style,
          .decoding = decoding,
          .samples_per_task = samples_per_task,
          .key = mix_key(seed, kSamplesStream),
          .keep = responses_file.empty() && !suite ? KeptResponses::kNone : KeptResponses::kWithVerdicts};
}

std::vector<Task> load_eval_tasks(const EvalSettings& settings) {
  TaskPool pool = TaskPool::load(settings.tasks);
  std::vector<Task> tasks = std::move(pool.held_out);
  if (settings.stage == Stage::kInfilling) {
    const size_t unusable = std::erase_if(tasks, [](const Task& task) { return !task.has_scaffold(); });
    if (unusable > 0)
      log_warning(unusable, " tasks without prefix, middle and suffix are left out of the infilling stage");
  }
  if (tasks.empty())
    throw InputError(concat("there is no task to evaluate on in the ", to_string(settings.stage), " stage"));
  return tasks;
}

}  // namespace bicrl
