#include "trainer/evaluation/evaluated_response.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "common/error.h"
#include "common/files/files.h"
#include "common/json.h"
#include "reward/reward_rule.h"
#include "tasks/synthetic/known_programs.h"

namespace bicrl {
namespace {

std::string class_of(const Verdict& verdict) {
  if (verdict.correct) return "correct";
  // An undecided program has the class for which it cannot be graded, and no rate counts it.
  if (!judges_program(verdict.outcome)) return to_string(verdict.outcome);
  return verdict.fault_class.empty() ? to_string(verdict.outcome) : verdict.fault_class;
}

// What a verdict's counters name; empty without counters.
std::string bound_of(const Verdict& verdict) {
  if (verdict.counters.empty()) return {};
  const auto counters = try_parse_json(verdict.counters);
  if (!counters || !counters.value().is_object()) return {};
  const auto bound = counters.value().find("bound_by");
  return bound != counters.value().end() && bound->is_string() ? bound->get<std::string>() : std::string();
}

}  // namespace

EvaluatedResponse evaluated_response(const Episode& episode) {
  const Turn& turn = episode.last();
  const Verdict& verdict = *turn.verdict;
  EvaluatedResponse found;
  found.task_id = episode.task_id;
  found.composition = episode.task->composition;
  found.sample = episode.key.sample;
  found.verdict = class_of(verdict);
  found.compiled = verdict.compiled;
  found.correct = verdict.correct;
  found.graded_at = verdict.graded_at;
  found.truncated = episode.is_truncated();
  found.tokens = turn.rollout.scored_tokens();
  found.program = turn.program;
  if (!verdict.correct) return found;
  if (const auto used = program_technique(*episode.task, turn.program)) {
    found.technique = used->technique.text();
    found.novel = used->is_novel;
  }
  found.speedup = trusted_speedup(verdict);
  found.candidate_ms = verdict.candidate_ms;
  found.eager_ms = verdict.eager_ms;
  found.clock = verdict.clock;
  found.costed_at = verdict.costed_at;
  found.bound_by = bound_of(verdict);
  return found;
}

nlohmann::ordered_json to_json(const EvaluatedResponse& r) {
  nlohmann::ordered_json json = {{"task_id", r.task_id}};
  if (!r.composition.empty()) json["composition"] = r.composition;
  json.update(nlohmann::ordered_json{{"sample", r.sample},
                                     {"verdict", r.verdict},
                                     {"compiled", r.compiled},
                                     {"correct", r.correct},
                                     {"truncated", r.truncated},
                                     {"tokens", r.tokens}});
  if (!r.graded_at.empty()) json["graded_at"] = r.graded_at;
  if (!r.clock.empty()) {
    json["clock"] = r.clock;
    json["speedup"] = r.speedup;
    json["candidate_ms"] = r.candidate_ms;
    json["eager_ms"] = r.eager_ms;
    if (!r.costed_at.empty()) json["costed_at"] = r.costed_at;
    if (!r.bound_by.empty()) json["bound_by"] = r.bound_by;
  }
  if (!r.technique.empty()) {
    json["technique"] = r.technique;
    json["novel"] = r.novel;
  }
  json["program"] = r.program;
  return json;
}

EvaluatedResponse evaluated_response_from_json(const nlohmann::json& json) {
  EvaluatedResponse r;
  json.at("task_id").get_to(r.task_id);
  if (const auto found = json.find("composition"); found != json.end()) found->get_to(r.composition);
  json.at("sample").get_to(r.sample);
  json.at("verdict").get_to(r.verdict);
  json.at("compiled").get_to(r.compiled);
  json.at("correct").get_to(r.correct);
  json.at("truncated").get_to(r.truncated);
  json.at("tokens").get_to(r.tokens);
  r.graded_at = json.value("graded_at", "");
  r.clock = json.value("clock", "");
  r.speedup = json.value("speedup", 0.0);
  r.candidate_ms = json.value("candidate_ms", 0.0);
  r.eager_ms = json.value("eager_ms", 0.0);
  r.costed_at = json.value("costed_at", "");
  r.bound_by = json.value("bound_by", "");
  r.technique = json.value("technique", "");
  r.novel = json.value("novel", false);
  json.at("program").get_to(r.program);
  return r;
}

std::vector<EvaluatedResponse> read_evaluated_responses(const std::filesystem::path& file) {
  std::istringstream lines(read_file(file));
  std::vector<EvaluatedResponse> responses;
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      responses.push_back(evaluated_response_from_json(nlohmann::json::parse(line)));
    } catch (const nlohmann::json::exception& error) {
      throw InputError(concat(file.string(), ":", number, ": ", error.what()));
    }
  }
  return responses;
}

}  // namespace bicrl
