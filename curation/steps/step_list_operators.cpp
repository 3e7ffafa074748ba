// Step `list_operators`: names the operators that a task's reference runs below autograd, where they are not
// known. No parameters.
#include "curation/code/question_step.h"

namespace bicrl::curation {
namespace {

class ListOperators : public QuestionStep {
 public:
  using QuestionStep::QuestionStep;

 protected:
  nlohmann::json request_for(const Record& record) const override {
    if (!record.operators.empty()) return nullptr;
    return {{"kind", "operators"}};
  }
  Decision decide(Record record, const nlohmann::json& answer) override {
    record.operators = answer.at("operators").get<std::vector<std::string>>();
    return {{std::move(record)}};
  }
};

const StepRegistration kListOperatorsRegistered("list_operators",
                                                "names the operators that a task's reference runs",
                                                [](const ConfigSection&, const StepEnvironment& e) {
                                                  return std::make_unique<ListOperators>(e);
                                                });

}  // namespace
}  // namespace bicrl::curation
