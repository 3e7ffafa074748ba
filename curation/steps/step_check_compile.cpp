// Step `check_compile`: drops tasks that torch.compile does not take, or answers differently.
//   backend: aot_eager (all but code generation) | eager (tracing alone) | inductor (C++ code for the
//   processor is generated and compiled, in boxes with a toolchain).
#include "curation/code/question_step.h"

namespace bicrl::curation {
namespace {

class CheckCompile : public QuestionStep {
 public:
  CheckCompile(const ConfigSection& p, const StepEnvironment& environment) : QuestionStep(environment) {
    backend_ = p.choice("backend", "aot_eager", {"aot_eager", "eager", "inductor"});
  }

  nlohmann::ordered_json card() const override { return {{"backend", backend_}}; }

 protected:
  nlohmann::json request_for(const Record&) const override {
    return {{"kind", "compile"}, {"backend", backend_}};
  }
  Decision decide(Record record, const nlohmann::json& answer) override {
    if (answer.contains("refused"))
      return {{}, "torch.compile refuses it", answer.at("refused").get<std::string>()};
    if (!answer.at("compiled").get<bool>()) return {{}, "torch.compile refuses it"};
    return {{std::move(record)}};
  }

 private:
  std::string backend_;
};

const StepRegistration kCheckCompileRegistered("check_compile",
                                               "drops tasks that torch.compile does not take",
                                               [](const ConfigSection& p, const StepEnvironment& e) {
                                                 return std::make_unique<CheckCompile>(p, e);
                                               });

}  // namespace
}  // namespace bicrl::curation
