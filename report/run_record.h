// A run directory as plain values: all that the page of a run is made of. Reads what is there; a directory
// that is half written, empty or of another version gives a record with sentences that say so.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "report/best_kernels.h"
#include "report/evaluation_entry.h"
#include "report/group_choice.h"
#include "report/kept_response.h"
#include "report/response_table.h"
#include "report/step_table.h"

namespace bicrl::report {

struct RunRecord {
  std::filesystem::path folder{};
  std::string name{};  // of the folder; of its parents too where runs share a name
  bool has_finished = false;
  std::string commit{};  // of the program that ran last; empty where run.json does not say it
  std::string config_yaml{}, reward_yaml{};
  std::vector<std::pair<std::string, std::string>> facts{};  // "format", "machine", "checkpoint"
  std::vector<std::string> notices{};                        // sentences: what is missing, damaged or unusual
  StepTable steps{};
  ResponseTable responses{};
  std::vector<EvaluationEntry> evaluations{};  // in the order in which they were made, without programs
  KeptResponses kept{};                        // of the chosen groups and kernels alone
  std::vector<ChosenGroup> groups{};
  std::vector<BestKernel> kernels{};
};

// How much of a run the page shows.
struct ReportSize {
  size_t groups = 32;
  size_t responses = 1024;  // of those groups: of larger groups, fewer are shown
  size_t kernels = 60;      // with their programs
};

// For a page of so many runs.
ReportSize size_for(size_t runs);

// Whether a folder looks like a run's: it has one of the files that every run begins with.
bool is_run_directory(const std::filesystem::path& folder);
// Throws InputError if the folder is no run directory.
RunRecord read_run(const std::filesystem::path& folder, const ReportSize& size = {});
// Of one page. Where folders have the same name, runs are named by their parent folders as well.
std::vector<RunRecord> read_runs(const std::vector<std::string>& folders);

}  // namespace bicrl::report
