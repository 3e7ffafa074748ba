#include "tasks/curriculum_state.h"

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/hash.h"
#include "common/json.h"

namespace bicrl::curriculum_state {

using nlohmann::json;

std::string fingerprint(const std::vector<Task>& tasks) {
  std::string text;
  for (const Task& task : tasks) text += concat(task.id, '\n', task.level, '\n');
  return hash_hex(text);
}

void require_tasks(const std::vector<Task>& tasks) {
  if (tasks.empty()) throw InputError("curriculum: there are no tasks");
}

bool is_left_out(const Task& task, const LeftOut& left_out) { return left_out && left_out(task); }

[[noreturn]] void refuse_to_go_on() {
  throw InputError("every task was left out, as the verifier can grade none of them");
}

const json& raw_field(const json& state, const char* field) {
  const auto found = state.is_object() ? state.find(field) : state.end();
  if (!state.is_object() || found == state.end())
    throw InputError(concat("curriculum state: field '", field, "' is missing"));
  return *found;
}

[[noreturn]] void refuse_field(const char* field, const json& value) {
  throw InputError(
      concat("curriculum state: field '", field, "' has the unusable value ", json_excerpt(value)));
}

void require_equal(const json& state, const json& own, const char* field) {
  const json& saved = raw_field(state, field);
  if (saved != own.at(field))
    throw OtherCurriculum(concat("curriculum state: field '", field, "' is ", json_excerpt(saved),
                                 ", expected ", json_excerpt(own.at(field)),
                                 ": it was saved with another curriculum or other tasks"));
}

uint64_t index_of(const json& state, const char* field, uint64_t bound) {
  const json& value = raw_field(state, field);
  // What was written by hand may be signed.
  const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
  if (!whole) refuse_field(field, value);
  if (value.get<uint64_t>() >= bound)
    throw InputError(
        concat("curriculum state: field '", field, "' is ", json_excerpt(value), ", expected below ", bound));
  return value.get<uint64_t>();
}

std::deque<double> rates(const json& state, const char* field, size_t most) {
  const json& list = raw_field(state, field);
  if (!list.is_array() || list.size() > most) refuse_field(field, list);
  std::deque<double> read;
  for (const json& rate : list) {
    if (!rate.is_number() || rate.get<double>() < 0 || rate.get<double>() > 1) refuse_field(field, list);
    read.push_back(rate.get<double>());
  }
  return read;
}

}  // namespace bicrl::curriculum_state
