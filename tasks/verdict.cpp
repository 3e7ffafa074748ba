#include "tasks/verdict.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json.h"
#include "tasks/fault_class.h"

namespace bicrl {
namespace {

constexpr Outcome kOutcomes[] = {Outcome::kGraded, Outcome::kCandidateFault, Outcome::kInfrastructure};

// JSON has no infinity: an unbounded number is written as null and read back as infinity.
nlohmann::json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

class FieldReader {
 public:
  explicit FieldReader(const nlohmann::json& json) : json_(json) {
    if (!json.is_object()) throw InputError(concat("verdict: expected an object, found ", json.type_name()));
  }
  void read(const char* field, std::string& out) const {
    const auto& value = at(field);
    if (!value.is_string()) refuse(field, "a string", value);
    out = value.get<std::string>();
  }
  void read(const char* field, bool& out) const {
    const auto& value = at(field);
    if (!value.is_boolean()) refuse(field, "true or false", value);
    out = value.get<bool>();
  }
  void read(const char* field, int& out) const {
    const auto& value = at(field);
    if (!value.is_number_integer() || value < 0 || value > std::numeric_limits<int>::max())
      refuse(field, "a non-negative integer", value);
    out = value.get<int>();
  }
  void read(const char* field, double& out) const {
    const auto& value = at(field);
    if (value.is_null()) {
      out = std::numeric_limits<double>::infinity();
    } else {
      if (!value.is_number()) refuse(field, "a number or null", value);
      out = value.get<double>();
    }
  }

 private:
  const nlohmann::json& at(const char* field) const {
    const auto found = json_.find(field);
    if (found == json_.end()) throw InputError(concat("verdict: field '", field, "' is missing"));
    return *found;
  }
  [[noreturn]] static void refuse(const char* field, const char* wanted, const nlohmann::json& value) {
    throw InputError(
        concat("verdict: field '", field, "' must be ", wanted, ", found ", json_excerpt(value)));
  }
  const nlohmann::json& json_;
};

// One list of the fields for both directions, so that none can be written and not read.
template <class VerdictType, class Visitor>
void visit_plain_fields(VerdictType& v, const Visitor& visit) {
  visit("request_id", v.request_id);
  visit("fault_class", v.fault_class);
  visit("stage", v.stage);
  visit("compiled", v.compiled);
  visit("correct", v.correct);
  visit("trials", v.trials);
  visit("trials_passed", v.trials_passed);
  visit("max_error_ratio", v.max_error_ratio);
  visit("tier", v.tier);
  visit("legality", v.legality);
  visit("coverage", v.coverage);
  visit("candidate_ms", v.candidate_ms);
  visit("eager_ms", v.eager_ms);
  visit("candidate_spread_ms", v.candidate_spread_ms);
  visit("eager_spread_ms", v.eager_spread_ms);
  visit("torch_compile_ms", v.torch_compile_ms);
  visit("roofline_fraction", v.roofline_fraction);
  visit("clock", v.clock);
  visit("diagnostics", v.diagnostics);
  visit("compile_ms", v.compile_ms);
  visit("record_ms", v.record_ms);
  visit("replay_ms", v.replay_ms);
  visit("total_ms", v.total_ms);
  visit("cached", v.cached);
  visit("backend", v.backend);
}

struct FieldWriter {
  nlohmann::json& json;
  void operator()(const char* field, double value) const { json[field] = number_or_null(value); }
  void operator()(const char* field, int value) const { json[field] = value; }
  void operator()(const char* field, bool value) const { json[field] = value; }
  void operator()(const char* field, const std::string& value) const { json[field] = value; }
};

Outcome parse_outcome(const std::string& text) {
  for (Outcome outcome : kOutcomes) {
    if (to_string(outcome) == text) return outcome;
  }
  throw InputError(concat("verdict: field 'outcome' has the unknown value '", text, "'"));
}

}  // namespace

std::string to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kGraded:
      return "graded";
    case Outcome::kCandidateFault:
      return "candidate_fault";
    case Outcome::kInfrastructure:
      return "infrastructure";
  }
  BICRL_CHECK(false, "outcome ", static_cast<int>(outcome));
  return {};
}

std::string verdict_problem(const Verdict& verdict) {
  if (!verdict.fault_class.empty() && !is_fault_class(verdict.fault_class))
    return concat("field 'fault_class' has the unknown value '", verdict.fault_class.substr(0, 80), "'");
  if (verdict.trials < 0 || verdict.trials_passed < 0 || verdict.trials_passed > verdict.trials)
    return concat("field 'trials_passed' is ", verdict.trials_passed, " of ", verdict.trials);
  if (verdict.correct && (verdict.outcome != Outcome::kGraded || !verdict.fault_class.empty()))
    return "field 'correct' is true beside a fault";
  if (!(verdict.max_error_ratio >= 0)) return concat("field 'max_error_ratio' is ", verdict.max_error_ratio);
  if (!(verdict.coverage >= 0 && verdict.coverage <= 1))
    return concat("field 'coverage' is ", verdict.coverage);
  const std::pair<const char*, double> measured[] = {{"candidate_ms", verdict.candidate_ms},
                                                     {"eager_ms", verdict.eager_ms},
                                                     {"candidate_spread_ms", verdict.candidate_spread_ms},
                                                     {"eager_spread_ms", verdict.eager_spread_ms},
                                                     {"torch_compile_ms", verdict.torch_compile_ms},
                                                     {"roofline_fraction", verdict.roofline_fraction},
                                                     {"compile_ms", verdict.compile_ms},
                                                     {"record_ms", verdict.record_ms},
                                                     {"replay_ms", verdict.replay_ms},
                                                     {"total_ms", verdict.total_ms}};
  for (const auto& [field, value] : measured)
    if (!std::isfinite(value) || value < 0) return concat("field '", field, "' is ", value);
  return {};
}

nlohmann::json to_json(const Verdict& verdict) {
  nlohmann::json json = nlohmann::json::object();
  json["outcome"] = to_string(verdict.outcome);
  visit_plain_fields(verdict, FieldWriter{json});
  return json;
}

Verdict verdict_from_json(const nlohmann::json& json) {
  const FieldReader reader(json);
  Verdict verdict;
  std::string outcome;
  reader.read("outcome", outcome);
  verdict.outcome = parse_outcome(outcome);
  visit_plain_fields(verdict, [&](const char* field, auto& value) { reader.read(field, value); });
  if (const std::string problem = verdict_problem(verdict); !problem.empty())
    throw InputError("verdict: " + problem);
  return verdict;
}

}  // namespace bicrl
