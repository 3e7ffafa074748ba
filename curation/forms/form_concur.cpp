// ConCuR: a task, the reasoning and the program that a model wrote for it, and the speed-up that was
// measured.
#include "curation/form.h"

namespace bicrl::curation {
namespace {

class ConcurForm : public Form {
 public:
  std::vector<std::string> fields() const override {
    return {"uuid",           "problem_name",      "pytorch_code", "generated_think",
            "generated_code", "speedup_over_eager"};
  }
  std::string licence() const override { return "none stated"; }

  Record read(const nlohmann::json& entry) const override {
    Record record;
    record.pytorch_code = text_of(entry, "pytorch_code");
    record.name = text_or(entry, "problem_name");
    record.answer.reasoning = text_or(entry, "generated_think");
    record.answer.program = text_or(entry, "generated_code");
    if (const auto speedup = number_of(entry, "speedup_over_eager"))
      record.figures["published_speedup"] = *speedup;
    keep_labels(entry, {"uuid"}, record);
    return record;
  }

  nlohmann::ordered_json write(const Record& record, const WritingOptions&) const override {
    const auto speedup = value_of(record, record.verdict ? "speedup" : "published_speedup");
    return {{"uuid", label_of(record, "uuid").empty() ? record.id : label_of(record, "uuid")},
            {"problem_name", record.name.empty() ? record.task_id : record.name},
            {"pytorch_code", needed(record.pytorch_code, "a task's code")},
            {"generated_think", record.answer.reasoning},
            {"generated_code", needed(record.answer.program, "a program")},
            {"speedup_over_eager", speedup ? nlohmann::ordered_json(std::get<double>(*speedup)) : nullptr}};
  }
};

const FormRegistration kConcurRegistered("concur", std::make_unique<ConcurForm>());

}  // namespace
}  // namespace bicrl::curation
