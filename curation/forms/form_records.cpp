// Records of another pipeline, as its steps leave them.
#include "curation/form.h"

namespace bicrl::curation {
namespace {

class RecordsForm : public Form {
 public:
  std::vector<std::string> fields() const override { return {"id", "task_id", "provenance"}; }
  Record read(const nlohmann::json& entry) const override { return record_from_json(entry); }
  nlohmann::ordered_json write(const Record& record, const WritingOptions&) const override {
    return to_json(record);
  }
};

const FormRegistration kRecordsRegistered("records", std::make_unique<RecordsForm>());

}  // namespace
}  // namespace bicrl::curation
