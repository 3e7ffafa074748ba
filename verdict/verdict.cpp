#include "verdict/verdict.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "common/error.h"
#include "common/json.h"
#include "verdict/fault/fault_class.h"
#include "verdict/verdict_fields.h"
#include "verdict/verifier_description.h"

namespace bicrl {
namespace {

constexpr Outcome kOutcomes[] = {Outcome::kGraded, Outcome::kCandidateFault, Outcome::kInfrastructure,
                                 Outcome::kInvalidTask, Outcome::kUndecided};

nlohmann::json json_of(const std::string& value) { return value; }
nlohmann::json json_of(bool value) { return value; }
nlohmann::json json_of(int value) { return value; }
nlohmann::json json_of(int64_t value) { return value; }
nlohmann::json json_of(Outcome value) { return to_string(value); }
// Of verdicts under earlier protocols, which meant other things.
constexpr const char* kFormerFields[] = {"stage", "tier", "replay_ms"};

// JSON has no infinity: an unbounded number is written as null and read back as infinity.
nlohmann::json json_of(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

class FieldReader {
 public:
  explicit FieldReader(const nlohmann::json& json) : json_(json) {
    if (!json.is_object()) throw InputError(concat("verdict: expected an object, found ", json.type_name()));
    for (const char* field : kFormerFields)
      if (json.contains(field))
        throw InputError(
            concat("verdict: it has the field '", field,
                   "', so it was given under another protocol of the verifier than ", kProtocolVersion,
                   ", which this program speaks: read it with the version that stored it, or start "
                   "a new run"));
  }
  void read(const std::string& field, Outcome& out) const {
    std::string name;
    read(field, name);
    const auto known = parse_outcome(name);
    if (!known) throw InputError(concat("verdict: field '", field, "' has the unknown value '", name, "'"));
    out = *known;
  }
  void read(const std::string& field, std::string& out) const {
    const auto& value = at(field);
    if (!value.is_string()) refuse(field, "a string", value);
    out = value.get<std::string>();
  }
  void read(const std::string& field, bool& out) const {
    const auto& value = at(field);
    if (!value.is_boolean()) refuse(field, "true or false", value);
    out = value.get<bool>();
  }
  void read(const std::string& field, int& out) const {
    const auto& value = at(field);
    if (!value.is_number_integer() || value < 0 || value > std::numeric_limits<int>::max())
      refuse(field, "a non-negative integer", value);
    out = value.get<int>();
  }
  void read(const std::string& field, int64_t& out) const {
    const auto& value = at(field);
    const bool fits = value.is_number_unsigned()
                          ? value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()}
                          : value.is_number_integer() && value.get<int64_t>() >= 0;
    if (!fits) refuse(field, "a non-negative integer", value);
    out = value.get<int64_t>();
  }
  void read(const std::string& field, double& out) const {
    const auto& value = at(field);
    if (value.is_null()) {
      out = std::numeric_limits<double>::infinity();
    } else {
      if (!value.is_number()) refuse(field, "a number or null", value);
      out = value.get<double>();
    }
  }

 private:
  const nlohmann::json& at(const std::string& field) const {
    const auto found = json_.find(field);
    if (found == json_.end()) throw InputError(concat("verdict: field '", field, "' is missing"));
    return *found;
  }
  [[noreturn]] static void refuse(const std::string& field, const char* wanted, const nlohmann::json& value) {
    throw InputError(
        concat("verdict: field '", field, "' must be ", wanted, ", found ", json_excerpt(value)));
  }
  const nlohmann::json& json_;
};

}  // namespace

std::string to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kGraded:
      return "graded";
    case Outcome::kCandidateFault:
      return "candidate_fault";
    case Outcome::kInfrastructure:
      return "infrastructure";
    case Outcome::kInvalidTask:
      return "invalid_task";
    case Outcome::kUndecided:
      return "undecided";
  }
  BICRL_CHECK(false, "outcome ", static_cast<int>(outcome));
  return {};
}

std::optional<Outcome> parse_outcome(std::string_view name) {
  for (const Outcome outcome : kOutcomes)
    if (to_string(outcome) == name) return outcome;
  return std::nullopt;
}

std::string verdict_problem(const Verdict& verdict) {
  if (!verdict.fault_class.empty() && !find_fault_class(verdict.fault_class))
    return concat("field 'fault_class' has the unknown value '", verdict.fault_class.substr(0, 80), "'");
  if (verdict.trials < 0 || verdict.trials_passed < 0 || verdict.trials_passed > verdict.trials)
    return concat("field 'trials_passed' is ", verdict.trials_passed, " of ", verdict.trials);
  if (verdict.correct && (verdict.outcome != Outcome::kGraded || !verdict.fault_class.empty()))
    return "field 'correct' is true beside a fault";
  const auto tolerance = parse_tolerance(verdict.tolerance);
  if (!verdict.tolerance.empty() && (!tolerance || *tolerance == TolerancePolicy::kOpen))
    return concat("field 'tolerance' has the unknown value '", verdict.tolerance.substr(0, 80), "'");
  for (const std::string* size : {&verdict.graded_at, &verdict.costed_at})
    if (!size->empty() && *size != kOwnSize && *size != kReducedSize)
      return concat("a field of sizes has the unknown value '", size->substr(0, 80), "'");
  if (verdict.lane_operations < 0) return concat("field 'lane_operations' is ", verdict.lane_operations);
  std::string problem;
  for_each_field(verdict, [&](const auto& field, const auto& value) {
    if constexpr (std::is_same_v<decltype(value), const double&>) {
      // An error may be unbounded; everything else that is measured has a size.
      const bool possible = value >= 0 && (std::isfinite(value) || field.member == &Verdict::max_error_ratio);
      if (!possible && problem.empty()) problem = concat("field '", field.name(), "' is ", value);
    }
  });
  return problem;
}

nlohmann::json to_json(const Verdict& verdict) {
  nlohmann::json json = nlohmann::json::object();
  for_each_field(verdict, [&](const auto& field, const auto& value) {
    json[std::string(field.name())] = json_of(value);
  });
  return json;
}

Verdict verdict_from_json(const nlohmann::json& json) {
  const FieldReader reader(json);
  Verdict verdict;
  for_each_field(verdict,
                 [&](const auto& field, auto& value) { reader.read(std::string(field.name()), value); });
  if (const std::string problem = verdict_problem(verdict); !problem.empty())
    throw InputError("verdict: " + problem);
  return verdict;
}

}  // namespace bicrl
