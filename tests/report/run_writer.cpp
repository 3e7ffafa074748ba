#include "tests/report/run_writer.h"

#include <cstdio>
#include <fstream>

#include "common/files/files.h"
#include "common/files/gzip.h"
#include "common/hash.h"
#include "episode/run_format.h"

namespace bicrl::report {
namespace {

std::string line_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

nlohmann::json verdict_of(const RunWriter::Response& response) {
  const bool is_correct = response.outcome == "correct";
  return {
      {"correct", is_correct},
      {"compiled", is_correct || response.outcome != "compile"},
      {"fault_class", is_correct ? "" : response.outcome},
      {"outcome", is_correct ? "graded" : "candidate_fault"},
      {"eager_ms", response.speedup > 0 ? 0.05 : 0.0},
      {"candidate_ms", response.speedup > 0 ? 0.05 / response.speedup : 0.0},
      {"clock", response.speedup > 0 ? "model" : ""},
      {"device", "l4, tables 3"},
      {"counters",
       response.speedup > 0
           ? R"({"bound_by":"memory","listed":[{"name":"k1","blocks":8,"threads_per_block":128,"load_sectors":4}]})"
           : ""},
      {"diagnostics", response.diagnostics}};
}

// As texts/ and samples.jsonl hold it.
nlohmann::json kept_entry(const std::string& phase, int64_t step, int64_t group, int64_t sample,
                          const RunWriter::Response& r) {
  nlohmann::json entry = {{"phase", phase},
                          {"step", step},
                          {"group", group},
                          {"sample", sample},
                          {"task", r.task},
                          {"repair", r.is_repair},
                          {"reward", r.reward},
                          {"advantage", r.advantage},
                          {"terms", {{"correct", r.outcome == "correct" ? 1.0 : 0.0}}},
                          {"text", r.text},
                          {"truncated", false},
                          {"verdict", verdict_of(r)}};
  if (!r.denoising.is_null()) entry["denoising"] = r.denoising;
  return entry;
}

}  // namespace

RunWriter::RunWriter(const std::filesystem::path& folder) : folder_(folder) {
  for (const char* below : {"ledger", "texts", "evaluations", "checkpoints"})
    std::filesystem::create_directories(folder_ / below);
  write_file_atomically(folder_ / "run.json",
                        nlohmann::json({{"format", kRunDirectoryFormat}, {"finished", false}}).dump() + "\n");
}

void RunWriter::append(const std::string& file, const std::string& text) const {
  std::ofstream(folder_ / file, std::ios::app | std::ios::binary) << text;
}

void RunWriter::finish() const {
  write_file_atomically(folder_ / "run.json",
                        nlohmann::json({{"format", kRunDirectoryFormat}, {"finished", true}}).dump() + "\n");
}

void RunWriter::add_sample(const std::string& phase, int64_t step, int64_t group, int64_t sample,
                           const Response& response) {
  append("samples.jsonl", line_of(kept_entry(phase, step, group, sample, response)));
}

void RunWriter::add_warm_up(int64_t step, int64_t steps, double loss) {
  append("metrics.jsonl", line_of({{"phase", "warm_up"},
                                   {"step", step},
                                   {"steps", steps},
                                   {"loss", loss},
                                   {"step_seconds", 0.3},
                                   {"train_seconds", 0.3}}));
}

void RunWriter::add_step(const std::string& phase, int64_t step, int64_t steps,
                         const std::vector<std::vector<Response>>& groups, nlohmann::json figures) {
  nlohmann::json list = nlohmann::json::array(), faults = nlohmann::json::object();
  std::string texts;
  double reward = 0, correct = 0, count = 0;
  for (size_t group = 0; group < groups.size(); ++group)
    for (size_t sample = 0; sample < groups[group].size(); ++sample) {
      const Response& r = groups[group][sample];
      const std::string key =
          hash_hex({phase, std::to_string(step), std::to_string(group), std::to_string(sample)});
      list.push_back({{"group", group},
                      {"sample", sample},
                      {"task", r.task},
                      {"reward", r.reward},
                      {"advantage", r.advantage},
                      {"masked", false},
                      {"truncated", false},
                      {"verdict_key", key}});
      append("ledger/rank-0.jsonl", line_of({{"key", key}, {"round", 0}, {"verdict", verdict_of(r)}}));
      if (!r.text.empty()) {
        nlohmann::json entry =
            kept_entry(phase, step, static_cast<int64_t>(group), static_cast<int64_t>(sample), r);
        entry["prompt"] = r.prompt.empty() ? "prompt of " + r.task : r.prompt;
        texts += line_of(entry);
      }
      reward += r.reward;
      correct += r.outcome == "correct";
      ++count;
      if (r.outcome != "correct") faults[r.outcome] = faults.value(r.outcome, 0) + 1;
    }
  nlohmann::json entry = {{"phase", phase},
                          {"step", step},
                          {"steps", steps},
                          {"responses", count},
                          {"groups", groups.size()},
                          {"reward_mean", reward / count},
                          {"correct_rate", correct / count},
                          {"fault_classes", faults},
                          {"zero_variance_groups", 0},
                          {"too_few_groups", 0},
                          {"step_seconds", 2.0},
                          {"rollout_seconds", 0.5},
                          {"train_seconds", 1.0},
                          {"verify_wait_seconds", 0.25}};
  entry.update(figures);
  append("metrics.jsonl", line_of(entry));
  append("responses.jsonl",
         line_of({{"advantage", "zscore"}, {"phase", phase}, {"step", step}, {"responses", list}}));
  char name[80];
  snprintf(name, sizeof name, "texts/%s-%06lld-rank-0.jsonl.gz", phase.c_str(), static_cast<long long>(step));
  if (!texts.empty()) write_file_atomically(folder_ / name, gzip(texts));
}

}  // namespace bicrl::report
