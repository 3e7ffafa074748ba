#include "trainer/evaluation/task_scores.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "common/progress_bar.h"
#include "common/rng.h"
#include "rollout/decoder.h"
#include "rollout/prompt_tokens.h"

namespace bicrl {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kSamplesStream = "eval";

struct Response {
  Response(size_t task, int64_t sample) : task(task), sample(sample) {}
  size_t task = 0;
  int64_t sample = 0;
  bool truncated = false;
  std::string program;
  std::optional<Verdict> verdict;
};

// This rank's responses, each on its way to the verifier as soon as it is finished.
class ResponseCollector {
 public:
  ResponseCollector(VerifierClient& verifier, const std::vector<Task>& tasks, std::vector<Response> responses,
                    bool show_progress)
      : verifier_(verifier), tasks_(tasks), responses_(std::move(responses)) {
    if (show_progress) bar_.emplace("evaluating", static_cast<int64_t>(responses_.size()), "responses");
  }

  void finished(size_t index, const Rollout& rollout) {
    Response& response = responses_[index];
    response.truncated = rollout.truncated();
    response.program = extract_program(rollout.text);
    verifier_.submit({.request_id = std::to_string(index),
                      .task_id = tasks_[response.task].id,
                      .pytorch_code = tasks_[response.task].pytorch_code,
                      .program = response.program});
    while (std::optional<Verdict> verdict = verifier_.next(0ms)) keep(std::move(*verdict));
  }

  std::vector<Response> wait() {
    while (verifier_.pending() > 0)
      // None within the time is no end: the client's own deadline ends a request that hangs.
      if (std::optional<Verdict> verdict = verifier_.next(5000ms)) keep(std::move(*verdict));
    return std::move(responses_);
  }

 private:
  void keep(Verdict verdict) {
    responses_.at(std::stoul(verdict.request_id)).verdict = std::move(verdict);
    if (bar_) bar_->advance();
  }

  VerifierClient& verifier_;
  const std::vector<Task>& tasks_;
  std::vector<Response> responses_;
  std::optional<ProgressBar> bar_;
};

void count(const Response& response, TaskScore& score) {
  const Verdict& verdict = response.verdict.value();
  if (verdict.outcome == Outcome::kInfrastructure) {
    ++score.unverified;
    return;
  }
  ++score.verified;
  score.truncated += response.truncated;
  score.compiled += verdict.compiled;
  score.correct += verdict.correct;
  if (!verdict.correct) ++score.fault_classes[verdict.fault_class];
}

nlohmann::json record_of(const Response& response, const Task& task) {
  return {{"task_id", task.id},
          {"sample", response.sample},
          {"truncated", response.truncated},
          {"program", response.program},
          {"verdict", to_json(*response.verdict)}};
}

std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// What a rank found, as text for the others: [index, score..., lines of responses] per task.
nlohmann::json scores_of(const std::vector<Response>& responses, const std::vector<Task>& tasks,
                         bool with_responses) {
  std::map<size_t, TaskScore> scores;
  std::map<size_t, std::string> lines;
  std::string reason;
  for (const Response& response : responses) {
    count(response, scores[response.task]);
    if (with_responses) lines[response.task] += dump(record_of(response, tasks[response.task])) + "\n";
    if (response.verdict->outcome == Outcome::kInfrastructure && reason.empty())
      reason = response.verdict->diagnostics;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [index, s] : scores)
    rows.push_back(
        {index, s.verified, s.compiled, s.correct, s.truncated, s.unverified, s.fault_classes, lines[index]});
  return {{"rows", rows}, {"reason", reason}};
}

EvalScores merge(const std::vector<std::string>& parts, size_t task_count) {
  EvalScores all;
  all.tasks.resize(task_count);
  std::vector<std::string> lines(task_count);
  for (const std::string& part : parts) {
    const auto found = nlohmann::json::parse(part);
    for (const auto& row : found.at("rows")) {
      const auto index = row.at(0).get<size_t>();
      all.tasks.at(index) = {row.at(1), row.at(2), row.at(3), row.at(4), row.at(5), row.at(6)};
      lines[index] = row.at(7);
    }
    all.generated_tokens += found.at("tokens").get<int64_t>();
    if (all.unverified_reason.empty()) all.unverified_reason = found.at("reason");
  }
  for (const std::string& line : lines) all.responses += line;
  return all;
}

}  // namespace

EvalScores score_tasks(const Transformer& policy, const Tokenizer& tokenizer, VerifierClient& verifier,
                       Communicator& communicator, const std::vector<Task>& tasks,
                       const EvalSettings& settings) {
  const uint64_t key = mix_key(settings.seed, kSamplesStream);
  std::vector<GenerationRequest> requests;
  std::vector<Response> responses;
  for (size_t index = communicator.rank(); index < tasks.size(); index += communicator.size()) {
    const Prompt prompt =
        make_prompt(tasks[index], settings.stage, settings.tasks.prompt_style, settings.decoding.scaffold);
    for (int64_t sample = 0; sample < settings.samples_per_task; ++sample) {
      requests.push_back(make_request(prompt, tokenizer, static_cast<int64_t>(index),
                                      mix_key({key, index, static_cast<uint64_t>(sample)})));
      responses.emplace_back(index, sample);
    }
  }
  ResponseCollector collector(verifier, tasks, std::move(responses), communicator.rank() == 0);
  DecodingStatistics statistics;
  try {
    statistics = Decoder(policy, tokenizer, settings.decoding)
                     .generate(requests, /*policy_version=*/0, [&](size_t index, const Rollout& rollout) {
                       collector.finished(index, rollout);
                     });
  } catch (const InputError& error) {
    // Not every rank meets it, and those that do not are waiting: no fault of input that all would report.
    throw Error(error.what(), error.code());
  }
  nlohmann::json mine = scores_of(collector.wait(), tasks, !settings.responses_file.empty());
  mine["tokens"] = statistics.generated_tokens;
  const std::vector<std::string> parts = communicator.gather(dump(mine));
  return communicator.rank() == 0 ? merge(parts, tasks.size()) : EvalScores{};
}

}  // namespace bicrl
