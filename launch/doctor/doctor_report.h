// Report of `bicrl doctor`: one line per check, and whether training can run. Not thread-safe.
//
// How this folder works: doctor_command.cpp goes through the machine (doctor_machine.h), the sandbox
// (doctor_sandbox.h) and the learner (doctor_learner.h), each of which adds lines to the report.
#pragma once
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

namespace bicrl {

enum class CheckStatus {
  kOk,
  kLimited,  // training runs, but slower or with less protection
  kMissing   // training cannot run
};

struct Check {
  std::string name;
  CheckStatus status = CheckStatus::kOk;
  std::string found;
  std::string remedy;  // empty if all is well
};

Check check_ok(const std::string& name, const std::string& found);
Check check_limited(const std::string& name, const std::string& found, const std::string& remedy);
Check check_missing(const std::string& name, const std::string& found, const std::string& remedy);

class DoctorReport {
 public:
  // Each check is also written to `lines` as it comes; null: nothing is.
  explicit DoctorReport(std::ostream* lines) : lines_(lines) {}
  void add(Check check);
  bool can_train() const;
  void print_conclusion() const;
  nlohmann::json to_json() const;

 private:
  std::ostream* lines_;
  std::vector<Check> checks_;
};

}  // namespace bicrl
