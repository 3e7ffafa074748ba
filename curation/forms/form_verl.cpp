// verl's form of reinforcement data, as Dr.Kernel publishes its tasks: a conversation that asks, and a ground
// truth, which is the module itself.
#include "common/error.h"
#include "common/json.h"
#include "curation/code/model_class.h"
#include "curation/form.h"
#include "curation/turns.h"

namespace bicrl::curation {
namespace {

const std::vector<std::string> kExtra = {"entry_point", "module_name", "ops", "repo_name", "type", "uuid"};

bool is_module(const std::string& text) { return text.find("def get_inputs") != text.npos; }

class VerlForm : public Form {
 public:
  std::vector<std::string> fields() const override {
    return {"data_source", "prompt", "ability", "reward_model", "extra_info"};
  }

  Record read(const nlohmann::json& entry) const override {
    Record record;
    record.answer.messages = turns_of(field_of(entry, "prompt"), "prompt");
    const nlohmann::json& reward = field_of(entry, "reward_model");
    const nlohmann::json& extra = field_of(entry, "extra_info");
    if (!reward.is_object() || !extra.is_object())
      throw InputError("fields 'reward_model' and 'extra_info' must be objects");
    std::string code = text_or(reward, "ground_truth");
    if (!is_module(code)) code = text_or(extra, "original_prompt");
    if (is_module(code)) record.pytorch_code = with_model_class(code, text_or(extra, "entry_point", "Model"));
    record.labels["ground_truth"] = text_or(reward, "ground_truth");
    record.labels["style"] = text_or(reward, "style");
    keep_labels(entry, {"data_source", "ability"}, record);
    keep_labels(extra, kExtra, record);
    if (const auto level = number_of(extra, "level")) record.level = static_cast<int>(*level);
    record.name = text_or(extra, "module_name");
    return record;
  }

  nlohmann::ordered_json write(const Record& record, const WritingOptions& options) const override {
    std::vector<ChatMessage> question = record.answer.messages;
    while (!question.empty() && question.back().role == ChatRole::kAssistant) question.pop_back();
    if (question.empty()) question = turns_of_prompt(prompt_of_task(record, options).text);
    const std::string truth = label_of(record, "ground_truth"), style = label_of(record, "style");
    nlohmann::ordered_json extra = {{"level", record.level}, {"original_prompt", record.pytorch_code}};
    for (const std::string& name : kExtra) extra[name] = label_of(record, name);
    if (extra["entry_point"] == "" && !record.pytorch_code.empty()) extra["entry_point"] = "Model";
    const std::string source = label_of(record, "data_source"), ability = label_of(record, "ability");
    return {{"data_source", source.empty() ? record.provenance.source : source},
            {"prompt", turns_to_json(question)},
            {"ability", ability.empty() ? "kernel" : ability},
            {"reward_model",
             {{"ground_truth", truth.empty() ? record.pytorch_code : truth},
              {"style", style.empty() ? "rule" : style}}},
            {"extra_info", extra}};
  }
};

const FormRegistration kVerlRegistered("verl", std::make_unique<VerlForm>());

}  // namespace
}  // namespace bicrl::curation
