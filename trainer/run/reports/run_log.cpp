#include "trainer/run/reports/run_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "episode/episode_fields.h"
#include "trainer/run/reports/sample_choice.h"

namespace bicrl {
namespace {

constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kResponses = "responses.jsonl";
constexpr const char* kSamples = "samples.jsonl";

int64_t kept(const std::map<std::string, int64_t>& log_bytes, const char* file) {
  const auto found = log_bytes.find(file);
  return found == log_bytes.end() ? 0 : found->second;
}

// Every number of an entry that is not left out, under `group`.
std::vector<EventFile::Scalar> numbers_of(const nlohmann::json& entry, const std::string& group) {
  std::vector<EventFile::Scalar> scalars;
  for (const auto& [key, value] : entry.items())
    if (value.is_number() && key != "step" && key != "steps" && key != "epochs")
      scalars.emplace_back(concat(group, "/", key), value.get<double>());
  return scalars;
}

// The same tags in all phases, so that a curve goes through the run.
std::vector<EventFile::Scalar> scalars_of(const nlohmann::json& entry, const StepMetrics& metrics) {
  std::vector<EventFile::Scalar> scalars = numbers_of(entry, "step");
  for (const auto& [kind, figures] : metrics.load.collectives) {
    scalars.emplace_back(concat("collectives/", kind, "_bytes"), figures.bytes);
    scalars.emplace_back(concat("collectives/", kind, "_waited_seconds"), figures.waited_s);
  }
  if (!metrics.responses) return scalars;
  for (const auto& [term, mean] : metrics.responses->reward_terms)
    scalars.emplace_back(concat("reward_terms/", term), mean);
  return scalars;
}

// A sample as TensorBoard shows it.
std::string markdown_of(const Episode& episode) {
  const auto& verdict = episode.last().verdict;
  const std::string outcome = !verdict                       ? "no verdict"
                              : verdict->correct             ? "correct"
                              : verdict->fault_class.empty() ? to_string(verdict->outcome)
                                                             : verdict->fault_class;
  return concat("**", outcome, "**, reward ", episode.reward.value, ", task ", episode.task_id, "\n```\n",
                episode.last().rollout.text, "\n```\n");
}

std::string line_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

RunLog::RunLog(const RunDirectory& directory, const std::map<std::string, int64_t>& log_bytes,
               int64_t samples_per_step)
    : metrics_(directory.path() / kMetrics, kept(log_bytes, kMetrics)),
      responses_(directory.path() / kResponses, kept(log_bytes, kResponses)),
      samples_(directory.path() / kSamples, kept(log_bytes, kSamples)),
      events_(directory.path() / kEventFileName, kept(log_bytes, kEventFileName.data())),
      samples_per_step_(samples_per_step) {}

void RunLog::step(const StepMetrics& metrics, int64_t run_step, double seconds_in_phase,
                  std::optional<double> run_seconds_left) {
  const nlohmann::json entry = to_json(metrics);
  metrics_.append(line_of(entry));
  events_.add_scalars(run_step, scalars_of(entry, metrics));
  const double eta = seconds_in_phase / static_cast<double>(metrics.step) *
                     static_cast<double>(metrics.steps - metrics.step);
  if (!metrics.responses && !warm_up_bar_)
    warm_up_bar_ = std::make_unique<ProgressBar>(metrics.phase, metrics.steps, "steps", metrics.step - 1);
  if (warm_up_bar_) warm_up_bar_->set(metrics.step);
  if (metrics.responses || metrics.step == metrics.steps) warm_up_bar_.reset();
  // Warm-up steps are short: a line for each would hide the others.
  const int64_t every = metrics.responses ? 1 : std::max<int64_t>(1, metrics.steps / 20);
  if (metrics.step % every == 0 || metrics.step == metrics.steps)
    print_line(step_line(metrics, eta, run_seconds_left));
}

void RunLog::responses(const StepMetrics& metrics, int64_t run_step, const std::vector<Episode>& episodes,
                       const std::map<EpisodeKey, TokenTexts>& tokens) {
  if (episodes.empty()) return;
  nlohmann::json all = nlohmann::json::array();
  for (const Episode& episode : episodes) all.push_back(to_json(episode, EpisodeForm::kLog));
  int64_t samples = 0;
  for (const size_t index : choose_samples(episodes, metrics.step, samples_per_step_)) {
    const Episode& episode = episodes[index];
    nlohmann::json sample = to_json(episode, EpisodeForm::kSample);
    if (const auto found = tokens.find(episode.key); found != tokens.end()) {
      sample["prompt"] = found->second.prompt;
      sample["denoising"] = to_json(found->second.denoising);
    }
    samples_.append(line_of(sample));
    events_.add_text(run_step, concat("samples/", metrics.phase, "_", ++samples), markdown_of(episode));
  }
  nlohmann::json line = to_json(metrics.meaning.advantage);
  line.update({{"phase", metrics.phase}, {"step", metrics.step}, {"responses", all}});
  responses_.append(line_of(line));
  std::vector<double> rewards, advantages;
  for (const Episode& episode : episodes) {
    if (episode.reward.masked) continue;
    rewards.push_back(episode.reward.value);
    advantages.push_back(episode.advantage);
  }
  events_.add_histogram(run_step, "responses/rewards", rewards);
  events_.add_histogram(run_step, "responses/advantages", advantages);
}

void RunLog::evaluation(const EvaluationResult& result, int64_t run_step) {
  events_.add_scalars(run_step, numbers_of(to_json(static_cast<const HeldOutFigures&>(result)), "held_out"));
  if (result.infilling)
    events_.add_scalars(run_step, numbers_of(to_json(*result.infilling), "held_out_as_infilling"));
  if (result.best_of)
    events_.add_scalars(run_step, numbers_of(to_json(result)["best_of"], "held_out_best_of"));
}

void RunLog::sync() {
  for (LineLog* log : {&metrics_, &responses_, &samples_}) log->sync();
  events_.sync();
}

std::map<std::string, int64_t> RunLog::log_bytes() const {
  return {{kMetrics, metrics_.size_bytes()},
          {kResponses, responses_.size_bytes()},
          {kSamples, samples_.size_bytes()},
          {kEventFileName.data(), events_.position()}};
}

}  // namespace bicrl
