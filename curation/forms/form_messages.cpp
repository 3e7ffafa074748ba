// Conversations: `messages`, a list of turns that ends with the answer, as most sets for supervised training
// have it; with the further fields of Dr.Kernel's cold-start set where they are there.
#include "common/error.h"
#include "curation/code/model_class.h"
#include "curation/form.h"
#include "curation/turns.h"

namespace bicrl::curation {
namespace {

const std::vector<std::string> kMessageLabels = {
    "uuid", "entry_point", "repo_name", "module_name", "timestamp", "conversion_mode", "enable_thinking"};
const std::vector<std::string> kFigures = {"final_speedup", "num_rounds", "best_round"};

class MessagesForm : public Form {
 public:
  std::vector<std::string> fields() const override { return {"messages"}; }

  Record read(const nlohmann::json& entry) const override {
    Record record;
    record.answer.messages = turns_of(field_of(entry, "messages"), "messages");
    if (record.answer.messages.back().role == ChatRole::kAssistant) {
      read_response(record.answer.messages.back().content, record.answer);
      record.answer.response.clear();  // the conversation has it
    }
    if (const std::string code = text_or(entry, "original_python_code"); !code.empty())
      record.pytorch_code = with_model_class(code, text_or(entry, "entry_point", "Model"));
    record.name = text_or(entry, "module_name");
    keep_labels(entry, kMessageLabels, record);
    keep_figures(entry, kFigures, record);
    if (const auto speedup = number_of(entry, "final_speedup"))
      record.figures["published_speedup"] = *speedup;
    return record;
  }

  nlohmann::ordered_json write(const Record& record, const WritingOptions& options) const override {
    nlohmann::ordered_json entry = {{"id", record.id},
                                    {"messages", turns_to_json(conversation_of(record, options))}};
    // As in pairs: whoever trains on it can verify what is answered.
    if (!record.pytorch_code.empty()) entry["original_python_code"] = record.pytorch_code;
    for (const std::string& name : kMessageLabels)
      if (const std::string label = label_of(record, name); !label.empty() && name != "entry_point")
        entry[name] = label;
    for (const std::string& name : kFigures)
      if (const auto found = record.figures.find(name); found != record.figures.end())
        entry[name] = found->second;
    return entry;
  }
};

const FormRegistration kMessagesRegistered("messages", std::make_unique<MessagesForm>());

}  // namespace
}  // namespace bicrl::curation
