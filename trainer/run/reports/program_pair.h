// A held-out task's program before and after reinforcement, side by side as text for a person. Pure
// functions.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "trainer/evaluation/evaluated_response.h"

namespace bicrl {

// Two right answers to one task, whose times are known.
struct ProgramPair {
  EvaluatedResponse before;
  EvaluatedResponse after;
};

// Of the tasks whose first responses are right in both, the one whose speed-up over eager grew most (by its
// ratio; the earlier one in `before` of two that are equal). None if no speed-up grew.
std::optional<ProgramPair> choose_program_pair(const std::vector<EvaluatedResponse>& before,
                                               const std::vector<EvaluatedResponse>& after);

// Two columns of 76 characters; a line that is longer ends with '>'. The titles are those of the evaluations
// ("after warm_up"). Says so if there is no pair.
std::string program_pair_text(const std::optional<ProgramPair>& pair, const std::string& before_title,
                              const std::string& after_title);

}  // namespace bicrl
