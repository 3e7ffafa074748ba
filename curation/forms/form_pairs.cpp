// Plain pairs: `prompt` and `response`, both texts.
#include "curation/form.h"

namespace bicrl::curation {
namespace {

class PairsForm : public Form {
 public:
  std::vector<std::string> fields() const override { return {"prompt", "response"}; }

  Record read(const nlohmann::json& entry) const override {
    Record record;
    record.answer.prompt = text_of(entry, "prompt");
    read_response(text_of(entry, "response"), record.answer);
    record.pytorch_code = text_or(entry, "pytorch_code");
    return record;
  }

  nlohmann::ordered_json write(const Record& record, const WritingOptions& options) const override {
    const std::vector<ChatMessage> turns = conversation_of(record, options);
    // Pairs made from a task keep its code, so that whoever trains on them can verify what is answered.
    nlohmann::ordered_json entry = {{"id", record.id}};
    entry["prompt"] = record.answer.messages.empty() ? prompt_of(record, options)
                                                     : chat_text({turns.begin(), turns.end() - 1});
    entry["response"] = turns.back().content;
    if (!record.pytorch_code.empty()) entry["pytorch_code"] = record.pytorch_code;
    return entry;
  }
};

const FormRegistration kPairsRegistered("pairs", std::make_unique<PairsForm>());

}  // namespace
}  // namespace bicrl::curation
