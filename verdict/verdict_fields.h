// The fields of a verdict, listed once: whatever stores, sends or reads verdicts goes through this list.
// Internal to verdict/ and its tests.
#pragma once
#include <optional>
#include <string_view>
#include <tuple>

#include "common/field_count.h"
#include "verdict/verdict.h"

namespace bicrl {

template <class Member>
struct VerdictField {
  std::string_view path;  // in the message of proto/verifier.proto
  Member Verdict::*member;

  // In JSON, which is flat: "candidate_ms" for the path "times.candidate_ms".
  constexpr std::string_view name() const { return path.substr(path.rfind('.') + 1); }
};

template <class Member>
constexpr VerdictField<Member> verdict_field(std::string_view path, Member Verdict::*member) {
  return {path, member};
}

inline constexpr std::tuple kVerdictFields{
    verdict_field("request_id", &Verdict::request_id),
    verdict_field("outcome", &Verdict::outcome),
    verdict_field("fault_class", &Verdict::fault_class),
    verdict_field("reached", &Verdict::reached),
    verdict_field("compiled", &Verdict::compiled),
    verdict_field("correct", &Verdict::correct),
    verdict_field("trials", &Verdict::trials),
    verdict_field("trials_passed", &Verdict::trials_passed),
    verdict_field("max_error_ratio", &Verdict::max_error_ratio),
    verdict_field("tolerance", &Verdict::tolerance),
    verdict_field("graded_at", &Verdict::graded_at),
    verdict_field("times.candidate_ms", &Verdict::candidate_ms),
    verdict_field("times.eager_ms", &Verdict::eager_ms),
    verdict_field("times.candidate_spread_ms", &Verdict::candidate_spread_ms),
    verdict_field("times.eager_spread_ms", &Verdict::eager_spread_ms),
    verdict_field("times.torch_compile_ms", &Verdict::torch_compile_ms),
    verdict_field("roofline_fraction", &Verdict::roofline_fraction),
    verdict_field("times.clock", &Verdict::clock),
    verdict_field("times.device", &Verdict::device),
    verdict_field("times.costed_at", &Verdict::costed_at),
    verdict_field("times.costed_size", &Verdict::costed_size),
    verdict_field("counters", &Verdict::counters),
    verdict_field("measurement", &Verdict::measurement),
    verdict_field("diagnostics", &Verdict::diagnostics),
    verdict_field("compile_ms", &Verdict::compile_ms),
    verdict_field("record_ms", &Verdict::record_ms),
    verdict_field("run_ms", &Verdict::run_ms),
    verdict_field("total_ms", &Verdict::total_ms),
    verdict_field("lane_operations", &Verdict::lane_operations),
    verdict_field("cached", &Verdict::cached),
    verdict_field("backend", &Verdict::backend),
};
static_assert(std::tuple_size_v<decltype(kVerdictFields)> == field_count<Verdict>(),
              "every member of Verdict has its line in kVerdictFields, once");

// The outcome of which to_string() makes this name.
std::optional<Outcome> parse_outcome(std::string_view name);

// Calls visit(field, member of `verdict`) for every field.
template <class VerdictType, class Visit>
void for_each_field(VerdictType& verdict, const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field, verdict.*field.member), ...); }, kVerdictFields);
}

}  // namespace bicrl
