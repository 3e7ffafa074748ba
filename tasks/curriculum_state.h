// Functions that curricula share in saving and restoring their states. Pure functions; every refusal is an
// InputError that names the field.
#pragma once
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tasks/curriculum.h"

namespace bicrl::curriculum_state {

// Of ids and levels in order: a state is only valid for the tasks it was taken on.
std::string fingerprint(const std::vector<Task>& tasks);
void require_tasks(const std::vector<Task>& tasks);  // throws InputError if there is none
bool is_left_out(const Task& task, const LeftOut& left_out);
[[noreturn]] void refuse_to_go_on();  // throws InputError: all tasks are left out

const nlohmann::json& raw_field(const nlohmann::json& state, const char* field);
[[noreturn]] void refuse_field(const char* field, const nlohmann::json& value);
// That `state` has what a state taken now (`own`) has there, else OtherCurriculum.
void require_equal(const nlohmann::json& state, const nlohmann::json& own, const char* field);
// A whole number below `bound`.
uint64_t index_of(const nlohmann::json& state, const char* field, uint64_t bound);
// A list of at most so many numbers in [0, 1].
std::deque<double> rates(const nlohmann::json& state, const char* field, size_t most);

}  // namespace bicrl::curriculum_state
