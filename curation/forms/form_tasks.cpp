// The task files of DICE and KernelBench, which runs read as well (tasks/task_entry.h).
#include "common/error.h"
#include "curation/form.h"
#include "tasks/task_entry.h"

namespace bicrl::curation {
namespace {

Task task_of(const nlohmann::json& entry) {
  auto parsed = parse_task_entry(entry);
  if (const auto* error = std::get_if<FieldError>(&parsed))
    throw InputError(error->field.empty() ? error->reason
                                          : concat("field '", error->field, "' ", error->reason));
  return std::get<Task>(std::move(parsed));
}

Record record_of(const nlohmann::json& entry) {
  const Task task = task_of(entry);
  Record record;
  record.task_id = task.id;
  record.level = task.level;
  record.pytorch_code = task.pytorch_code;
  record.operators = task.composition;
  record.reduced_sizes = task.reduced_sizes;
  record.answer.program = task.cuda_code;
  record.answer.prefix = task.prefix;
  record.answer.middle = task.middle;
  record.answer.suffix = task.suffix;
  return record;
}

std::vector<Record> alternatives_of(const nlohmann::json& entry, const Record& first) {
  std::vector<Record> records;
  for (const KnownProgram& known : task_of(entry).alternatives) {
    Record& record = records.emplace_back(first);
    record.answer = {};
    record.answer.program = known.cuda_code;
    record.answer.prefix = known.prefix;
    record.answer.middle = known.middle;
    record.answer.suffix = known.suffix;
    if (!known.technique.empty()) record.labels["technique"] = known.technique;
  }
  return records;
}

class InfillingForm : public Form {
 public:
  std::vector<std::string> fields() const override {
    return {"id", "pytorch_code", "cuda_code", "prefix", "middle", "suffix"};
  }
  Record read(const nlohmann::json& entry) const override { return record_of(entry); }
  std::vector<Record> read_further(const nlohmann::json& entry, const Record& first) const override {
    return alternatives_of(entry, first);
  }
  nlohmann::ordered_json write(const Record& record, const WritingOptions&) const override {
    needed(record.answer.middle, "a scaffold (prefix, middle, suffix)");
    needed(record.pytorch_code, "a task's code");
    Task task = record.task();
    task.id = record.id;
    return task_to_entry(task);
  }
};

class EndToEndForm : public Form {
 public:
  std::vector<std::string> fields() const override { return {"idx", "level", "pytorch_code"}; }
  Record read(const nlohmann::json& entry) const override { return record_of(entry); }
  std::vector<Record> read_further(const nlohmann::json& entry, const Record& first) const override {
    return alternatives_of(entry, first);
  }
  nlohmann::ordered_json write(const Record& record, const WritingOptions&) const override {
    needed(record.pytorch_code, "a task's code");
    Task task = record.task();
    task.id = record.id;
    task.prefix.clear();
    task.middle.clear();
    task.suffix.clear();
    return task_to_entry(task);
  }
};

class KernelBenchForm : public Form {
 public:
  std::vector<std::string> fields() const override { return {"level", "problem_id", "name"}; }
  std::string licence() const override { return "MIT"; }
  // The copy on the hub calls the module `code`.
  Record read(const nlohmann::json& entry) const override {
    nlohmann::json renamed = entry;
    if (!entry.contains("pytorch_code") && entry.contains("code")) renamed["pytorch_code"] = entry["code"];
    Record record = record_of(renamed);
    record.name = text_of(entry, "name");
    record.labels["problem_id"] = renamed["problem_id"].is_string() ? renamed["problem_id"].get<std::string>()
                                                                    : renamed["problem_id"].dump();
    return record;
  }
  nlohmann::ordered_json write(const Record& record, const WritingOptions&) const override {
    needed(label_of(record, "problem_id"), "a number in its level (problem_id)");
    nlohmann::ordered_json entry = {{"level", record.level},
                                    {"problem_id", integer_label(record, "problem_id")},
                                    {"name", needed(record.name, "a name")},
                                    {"pytorch_code", needed(record.pytorch_code, "a task's code")}};
    if (!record.reduced_sizes.empty())
      entry["reduced_sizes"] = nlohmann::ordered_json::parse(record.reduced_sizes);
    return entry;
  }
};

const FormRegistration kInfilling("infilling", std::make_unique<InfillingForm>());
const FormRegistration kEndToEnd("end_to_end", std::make_unique<EndToEndForm>());
const FormRegistration kKernelBench("kernelbench", std::make_unique<KernelBenchForm>());

}  // namespace
}  // namespace bicrl::curation
