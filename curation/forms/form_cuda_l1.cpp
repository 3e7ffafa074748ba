// CUDA-L1: a KernelBench task and the program that was found for it, or none, with its measured speed-ups.
#include "common/error.h"
#include "curation/form.h"

namespace bicrl::curation {
namespace {

const std::vector<std::string> kScores = {"score_default", "score_torch_compile_default",
                                          "score_torch_compile_reduce_overhead", "score_cuda_graph"};

std::string id_of(const nlohmann::json& entry) {
  const nlohmann::json& id = field_of(entry, "task_id");
  if (id.is_number_integer()) return id.dump();
  const std::string text = id.is_string() ? text_of(entry, "task_id") : "";
  if (!text.empty()) return text;
  const auto number = number_of(entry, "task_id");
  if (!number) throw InputError("field 'task_id' names no task");
  return concat(*number);
}

// A number within the level; a task of another source is named by a text.
bool is_published_id(const std::string& id) {
  return !id.empty() && id.find_first_not_of("0123456789") == id.npos;
}

class CudaL1Form : public Form {
 public:
  std::vector<std::string> fields() const override {
    return {"level_id", "task_id", "ref_code", "custom_code"};
  }

  Record read(const nlohmann::json& entry) const override {
    Record record;
    const auto level = number_of(entry, "level_id");
    if (!level) throw InputError("field 'level_id' is missing");
    record.level = static_cast<int>(*level);
    const std::string task = id_of(entry);
    if (is_published_id(task)) {
      record.task_id = concat("level_", *level, "_problem_", task);
      record.labels["published_task_id"] = task;
    } else {
      record.task_id = task;
    }
    record.pytorch_code = text_of(entry, "ref_code");
    record.answer.program = text_or(entry, "custom_code");
    if (const auto score = number_of(entry, "score_default")) record.figures["published_speedup"] = *score;
    keep_figures(entry, kScores, record);
    if (const std::string graph = text_or(entry, "cuda_graph_code"); !graph.empty())
      record.labels["cuda_graph_code"] = graph;
    return record;
  }

  nlohmann::ordered_json write(const Record& record, const WritingOptions&) const override {
    nlohmann::ordered_json entry;
    entry["level_id"] = record.level;
    // Always a text: a column of a table has one type, and variants have no number.
    const std::string published = label_of(record, "published_task_id");
    entry["task_id"] = published.empty() ? record.task_id : published;
    entry["ref_code"] = needed(record.pytorch_code, "a task's code");
    entry["custom_code"] = nullptr;
    if (!record.answer.program.empty()) entry["custom_code"] = record.answer.program;
    entry["cuda_graph_code"] = label_of(record, "cuda_graph_code");
    for (const std::string& score : kScores) {
      const auto found = record.figures.find(score);
      if (found != record.figures.end()) entry[score] = found->second;
    }
    if (const auto speedup = value_of(record, "speedup"); speedup && !entry.contains("score_default"))
      entry["score_default"] = std::get<double>(*speedup);
    return entry;
  }
};

const FormRegistration kCudaL1Registered("cuda_l1", std::make_unique<CudaL1Form>());

}  // namespace
}  // namespace bicrl::curation
