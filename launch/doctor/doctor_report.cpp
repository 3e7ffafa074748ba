#include "launch/doctor/doctor_report.h"

#include <algorithm>
#include <iomanip>

#include "common/error.h"

namespace bicrl {
namespace {

const char* word(CheckStatus status) {
  switch (status) {
    case CheckStatus::kOk:
      return "ok";
    case CheckStatus::kLimited:
      return "limited";
    case CheckStatus::kMissing:
      break;
  }
  return "missing";
}

// Messages of several lines become one.
std::string on_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == '\n' || c == '\t' || c == ' ';
    if (!space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

Check check_ok(const std::string& name, const std::string& found) {
  return {name, CheckStatus::kOk, found, ""};
}
Check check_limited(const std::string& name, const std::string& found, const std::string& remedy) {
  return {name, CheckStatus::kLimited, found, remedy};
}
Check check_missing(const std::string& name, const std::string& found, const std::string& remedy) {
  return {name, CheckStatus::kMissing, found, remedy};
}

void DoctorReport::add(Check check) {
  check.found = on_one_line(check.found);
  check.remedy = on_one_line(check.remedy);
  if (lines_)
    *lines_ << std::left << std::setw(9) << word(check.status) << std::setw(19) << check.name << ' '
            << check.found << (check.remedy.empty() ? "" : " -> " + check.remedy) << std::endl;
  checks_.push_back(std::move(check));
}

bool DoctorReport::can_train() const {
  return std::none_of(checks_.begin(), checks_.end(),
                      [](const Check& check) { return check.status == CheckStatus::kMissing; });
}

void DoctorReport::print_conclusion() const {
  if (!lines_) return;
  std::string names;
  for (const Check& check : checks_)
    if (check.status == CheckStatus::kMissing) names += (names.empty() ? "" : ", ") + check.name;
  *lines_ << (names.empty() ? "\nTraining can run here." : "\nTraining cannot run here: " + names + ".")
          << std::endl;
}

nlohmann::json DoctorReport::to_json() const {
  nlohmann::json checks = nlohmann::json::array();
  for (const Check& check : checks_)
    checks.push_back({{"name", check.name},
                      {"status", word(check.status)},
                      {"found", check.found},
                      {"remedy", check.remedy}});
  return {{"can_train", can_train()}, {"checks", checks}};
}

}  // namespace bicrl
