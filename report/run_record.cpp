#include "report/run_record.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/error.h"
#include "common/files/files.h"
#include "episode/run_format.h"

namespace bicrl::report {
namespace fs = std::filesystem;
namespace {

constexpr size_t kLongestYaml = 256 << 10;
constexpr size_t kFewestGroups = 4;  // however large they are

std::string plural(int64_t count, const std::string& noun) {
  return concat(count, " ", noun, count == 1 ? "" : "s");
}

std::string text_of(const fs::path& file) try {
  std::error_code failure;
  return fs::is_regular_file(file, failure) ? read_file(file, kLongestYaml) : "";
} catch (const Error&) {
  return "";
}

std::string joined_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// "end_to_end-000012" is step 12 of end_to_end, "warm_up" the end of warm_up. False for one that the run has
// left behind: of a step that was rolled back, or of the end of a phase that goes on since.
bool place_evaluation(const StepTable& steps, EvaluationEntry& entry) {
  std::string name = entry.name;
  for (const char* variant : {kBestOfSuffix, "_as_infilling"})
    if (name.ends_with(variant)) {
      entry.is_variant = true;
      name.resize(name.size() - std::string_view(variant).size());
    }
  const size_t dash = name.rfind('-');
  entry.phase = name;
  if (dash != std::string::npos && dash + 1 < name.size() && name.size() - dash < 16 &&
      name.find_first_not_of("0123456789", dash + 1) == std::string::npos) {
    entry.phase = name.substr(0, dash);
    entry.step = std::stoll(name.substr(dash + 1));
  }
  if (entry.step > 0) {
    entry.run_row = steps.row_of(entry.phase, entry.step);
    return entry.run_row >= 0;
  }
  for (const PhaseSpan& phase : steps.phases) {
    if (phase.name != entry.phase) continue;
    entry.run_row = phase.end - 1;
    return steps.step[static_cast<size_t>(entry.run_row)] >= phase.steps;
  }
  return true;
}

void read_evaluations(RunRecord& run) {
  std::error_code failure;
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(run.folder / "evaluations", failure))
    if (file.path().extension() == ".jsonl") files.push_back(file.path());
  std::ranges::sort(files);
  const nlohmann::json summary = object_of(run.folder / "summary.json");
  const nlohmann::json held_out =
      summary.is_object() ? summary.value("held_out", nlohmann::json()) : nlohmann::json();
  LineCounts lines;
  for (const fs::path& file : files) {
    EvaluationEntry entry = read_evaluation(file);
    entry.programs = {};  // no page of a run shows them, and a long run has gigabytes
    lines.add(entry.lines);
    if (entry.responses == 0 || !place_evaluation(run.steps, entry)) continue;
    if (held_out.is_object() && held_out.contains(entry.name)) {
      const nlohmann::json& figures = held_out[entry.name];
      if (const double rewarded = number_or(figures, "rewarded", 0); rewarded > 0)
        entry.reward = mean_estimate(number_or(figures, "reward_mean", 0),
                                     number_or(figures, "reward_spread", 0), static_cast<int64_t>(rewarded));
    }
    run.evaluations.push_back(std::move(entry));
  }
  std::ranges::stable_sort(run.evaluations, {},
                           [](const EvaluationEntry& e) { return std::pair(e.run_row, e.is_variant); });
  if (lines.broken > 0)
    run.notices.push_back(concat("Evaluations: ", plural(lines.broken, "line"), " could not be read and ",
                                 lines.broken == 1 ? "is" : "are", " left out."));
}

void read_run_file(RunRecord& run) {
  const nlohmann::json json = object_of(run.folder / "run.json");
  if (!json.is_object()) {
    run.notices.push_back("This folder has no readable run.json: the run may have been killed as it began.");
    return;
  }
  run.has_finished = flag_or(json, "finished", false);
  for (const auto& [key, value] : json.items())
    if (key != "finished" && (value.is_primitive())) run.facts.emplace_back(key, joined_text(value));
  if (flag_or(json, "bench", false))
    run.notices.push_back(
        "This run is a bench: lengths and denoise steps of its responses were drawn, and its programs come "
        "from a file. Its times count, its rewards do not.");
  const nlohmann::json program = json.value("program", nlohmann::json());
  run.commit = text_or(program, "commit");
  run.facts.emplace_back("commit", run.commit.empty() ? "not recorded" : run.commit);
  if (const std::string version = text_or(program, "version"); !version.empty())
    run.facts.emplace_back("program version", version);
  if (json.contains("machine") && json["machine"].is_object())
    for (const auto& [key, value] : json["machine"].items())
      run.facts.emplace_back("machine: " + key, joined_text(value));
  const nlohmann::json format = json.value("format", nlohmann::json());
  if (format != kRunDirectoryFormat)
    run.notices.push_back(concat("This run was made by another version of the program (format ",
                                 joined_text(format), ", this page reads ", kRunDirectoryFormat,
                                 "): figures that are missing here may stand in it under other names."));
}

void read_other_files(RunRecord& run) {
  run.config_yaml = text_of(run.folder / "config.yaml");
  run.reward_yaml = text_of(run.folder / "reward.yaml");
  for (const char* name : {"latest", "best"}) {
    std::string checkpoint = text_of(run.folder / "checkpoints" / name);
    while (!checkpoint.empty() && isspace(static_cast<unsigned char>(checkpoint.back())))
      checkpoint.pop_back();
    if (!checkpoint.empty()) run.facts.emplace_back(concat(name, " checkpoint"), checkpoint);
  }
  if (!run.responses.device.empty()) run.facts.emplace_back("device of the times", run.responses.device);
}

void note_lines(RunRecord& run, const char* file, const LineCounts& lines) {
  if (lines.broken > 0)
    run.notices.push_back(concat(file, ": ", plural(lines.broken, "line"), " could not be read and ",
                                 lines.broken == 1 ? "is" : "are", " left out."));
  if (lines.is_cut_off)
    run.notices.push_back(
        concat(file, ": its last line is half written. The run is still writing it, or was killed."));
  if (lines.is_too_large)
    run.notices.push_back(concat(file, ": a compressed file holds more than 256 MiB; the rest is left out."));
}

// What a person would want to know before reading any curve.
void note_figures(RunRecord& run) {
  const auto total = [&](const char* column) {
    const auto found = run.steps.columns.find(column);
    double sum = 0;
    if (found != run.steps.columns.end())
      for (const double value : found->second) sum += std::isfinite(value) ? value : 0;
    return static_cast<int64_t>(sum);
  };
  if (run.steps.rows() == 0)
    run.notices.push_back("No step has been recorded yet: metrics.jsonl is absent or empty.");
  if (!run.has_finished && run.steps.rows() > 0) run.notices.push_back("The run has not finished.");
  if (const int64_t n = total("skipped_updates"))
    run.notices.push_back(concat(plural(n, "update"), " had a gradient that is not finite and ",
                                 n == 1 ? "was" : "were", " skipped."));
  if (const int64_t n = total("stragglers"))
    run.notices.push_back(concat(plural(n, "response"), " got no verdict by the deadline."));
  int64_t lost = 0, idle = 0, steps = 0;
  const auto column = [&](const char* name, int64_t row) {
    const auto found = run.steps.columns.find(name);
    return found == run.steps.columns.end() ? std::nan("") : found->second[static_cast<size_t>(row)];
  };
  const auto informative_groups = [&](int64_t row) {
    const double groups = column("informative_groups", row);
    // Older runs have not counted them; none of those that were dropped is.
    return std::isnan(groups) ? column("groups", row) - column("dropped_groups", row) : groups;
  };
  for (int64_t row = 0; row < run.steps.rows(); ++row) {
    lost += column("infrastructure_rate", row) > 0;
    const double groups = column("groups", row);
    steps += groups > 0;
    idle += groups > 0 && informative_groups(row) == 0;
  }
  if (lost > 0) run.notices.push_back(concat("In ", plural(lost, "step"), " some responses got no verdict."));
  if (idle > 0)
    run.notices.push_back(concat("In ", idle, " of ", plural(steps, "step"),
                                 " no group taught anything: all rewards of each were equal."));
  if (steps > 0 && run.responses.responses.empty())
    run.notices.push_back("There is no responses.jsonl, so the page has no groups and no kernels.");
}

// Which groups and kernels are shown, and their texts.
void choose(RunRecord& run, const ReportSize& size) {
  const KeptPlaces places = kept_places(run.folder, run.steps);
  size_t largest = 1;
  for (const GroupRange& range : groups_of(run.responses))
    largest = std::max(largest, range.end - range.begin);
  run.groups =
      choose_groups(run.responses, run.steps,
                    std::min(size.groups, std::max(kFewestGroups, size.responses / largest)), places);
  run.kernels = best_kernels(run.responses, run.steps);
  ShownResponses shown;
  for (const ChosenGroup& group : run.groups) shown.groups.emplace(group.row, group.group);
  for (size_t i = 0; i < std::min(size.kernels, run.kernels.size()); ++i)
    shown.responses.insert(run.kernels[i].found);
  run.kept = read_kept_responses(run.folder, run.steps, shown);
  complete_kernels(run.kept, run.kernels);
}

// The last `folders` folders of a path.
std::string path_end(const fs::path& path, size_t folders) {
  fs::path end;
  auto at = path.end();
  for (size_t i = 0; i < folders && at != path.begin(); ++i) {
    const fs::path part = *--at;
    end = end.empty() ? part : part / end;
  }
  return end.string();
}

// Runs of one name get their parent folders before it, as many as tell them apart.
void name_apart(std::vector<RunRecord>& runs) {
  std::map<std::string, std::vector<RunRecord*>> named;
  for (RunRecord& run : runs) named[run.name].push_back(&run);
  for (const auto& [name, same] : named) {
    if (same.size() == 1) continue;
    std::vector<fs::path> paths;
    size_t longest = 0;
    for (const RunRecord* run : same) {
      std::error_code failure;
      paths.push_back(fs::weakly_canonical(run->folder, failure));
      longest =
          std::max(longest, static_cast<size_t>(std::distance(paths.back().begin(), paths.back().end())));
    }
    const std::set<fs::path> different(paths.begin(), paths.end());
    for (size_t folders = 2; folders <= longest; ++folders) {
      std::set<std::string> ends;
      for (size_t i = 0; i < same.size(); ++i) ends.insert(same[i]->name = path_end(paths[i], folders));
      if (ends.size() == different.size()) break;
    }
  }
}

}  // namespace

ReportSize size_for(size_t runs) {
  const ReportSize whole;
  const size_t part = std::max<size_t>(runs, 1);
  return {.groups = std::max(kFewestGroups, whole.groups / part),
          .responses = whole.responses / part,
          .kernels = std::max<size_t>(10, whole.kernels / part)};
}

bool is_run_directory(const fs::path& folder) {
  std::error_code failure;
  if (!fs::is_directory(folder, failure)) return false;
  if (fs::is_empty(folder, failure)) return true;  // of a run that has not begun
  return fs::exists(folder / "run.json", failure) || fs::exists(folder / "metrics.jsonl", failure);
}

RunRecord read_run(const fs::path& folder, const ReportSize& size) {
  std::error_code failure;
  if (!fs::exists(folder, failure)) throw InputError(concat(folder.string(), ": there is no such folder"));
  if (!is_run_directory(folder))
    throw InputError(
        concat(folder.string(), ": is no run directory (it has neither run.json nor metrics.jsonl)"));
  RunRecord run{.folder = folder};
  const fs::path whole = fs::weakly_canonical(folder, failure);
  run.name = whole.filename().string().empty() ? folder.string() : whole.filename().string();
  if (fs::is_empty(folder, failure)) {
    run.notices.push_back("This folder is empty: no run has begun in it.");
    return run;
  }
  run.steps = read_step_table(folder / "metrics.jsonl");
  run.responses = read_response_table(folder, run.steps);
  read_run_file(run);
  read_evaluations(run);
  read_other_files(run);
  choose(run, size);
  note_figures(run);
  note_lines(run, "metrics.jsonl", run.steps.lines);
  note_lines(run, "responses.jsonl", run.responses.lines);
  note_lines(run, "The ledger", run.responses.ledger_lines);
  note_lines(run, "Kept texts", run.kept.lines);
  return run;
}

std::vector<RunRecord> read_runs(const std::vector<std::string>& folders) {
  std::vector<RunRecord> runs;
  for (const std::string& folder : folders) runs.push_back(read_run(folder, size_for(folders.size())));
  name_apart(runs);
  return runs;
}

}  // namespace bicrl::report
