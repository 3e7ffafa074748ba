#include "tasks/task.h"

#include "common/error.h"

namespace bicrl {

std::string to_string(Stage stage) { return stage == Stage::kInfilling ? "infilling" : "end_to_end"; }

Stage parse_stage(const std::string& text) {
  if (text == "infilling") return Stage::kInfilling;
  if (text == "end_to_end") return Stage::kEndToEnd;
  throw InputError(concat("stage: '", text, "' is neither 'infilling' nor 'end_to_end'"));
}

}  // namespace bicrl
