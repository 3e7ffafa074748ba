// Numbers as people read them, by what they count. Pure functions.
#pragma once
#include <string>

#include "report/evaluation_entry.h"

namespace bicrl::report {

enum class Unit { kNumber, kShare, kSeconds, kMilliseconds, kBytes, kFactor, kCount, kPerSecond };

std::string figure_text(double value, Unit unit);
// "89.8 %", and its interval behind it: "84.1 to 93.6".
std::string interval_text(const Estimate& estimate, Unit unit);
// How many responses, or tasks, an evaluation's rates are shares of: "79 of 99", "8 tasks".
std::string judged_text(const EvaluationEntry& evaluation);
// A key of metrics.jsonl as a title: "log_prob_gap" is "Log prob gap".
std::string title_of(const std::string& key);
std::string readable_name(std::string key);  // "log prob gap"
Unit unit_of(const std::string& key);        // by its ending

}  // namespace bicrl::report
