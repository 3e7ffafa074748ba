// CUDA-Agent-Ops-6K: composed tasks, with the operators that they are composed of and no answer.
#include "common/error.h"
#include "common/json.h"
#include "curation/form.h"

namespace bicrl::curation {
namespace {

// A list of names, or a text that holds one: the published column is a text.
std::vector<std::string> operators_in(const nlohmann::json& entry) {
  nlohmann::json ops = field_of(entry, "ops");
  if (ops.is_string()) {
    std::string text = ops.get<std::string>();
    for (char& c : text)
      if (c == '\'') c = '"';  // as Python prints lists
    const auto list = try_parse_json(text);
    if (!list || !list.value().is_array()) return {ops.get<std::string>()};
    ops = list.value();
  }
  if (!ops.is_array()) throw InputError(concat("field 'ops' must be a list, found ", json_excerpt(ops)));
  std::vector<std::string> names;
  for (const auto& name : ops) {
    if (!name.is_string())
      throw InputError(concat("field 'ops' must hold texts, found ", json_excerpt(name)));
    names.push_back(name.get<std::string>());
  }
  return names;
}

class CudaAgentForm : public Form {
 public:
  std::vector<std::string> fields() const override { return {"ops", "data_source", "code"}; }
  std::string licence() const override { return "CC-BY-4.0"; }

  Record read(const nlohmann::json& entry) const override {
    Record record;
    record.pytorch_code = text_of(entry, "code");
    record.operators = operators_in(entry);
    keep_labels(entry, {"data_source"}, record);
    return record;
  }

  nlohmann::ordered_json write(const Record& record, const WritingOptions&) const override {
    const std::string published = label_of(record, "data_source");
    return {{"ops", nlohmann::ordered_json(record.operators).dump()},
            {"data_source", published.empty() ? concat("torch#", record.operators.size()) : published},
            {"code", needed(record.pytorch_code, "a task's code")}};
  }
};

const FormRegistration kCudaAgentRegistered("cuda_agent", std::make_unique<CudaAgentForm>());

}  // namespace
}  // namespace bicrl::curation
