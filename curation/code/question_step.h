// A step that asks boxes one question about each record's code and decides by the answer. Not thread-safe.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/error.h"
#include "curation/code/code_questions.h"

namespace bicrl::curation {

class QuestionStep : public Step {
 public:
  explicit QuestionStep(const StepEnvironment& environment) : questions_(environment) {}

  void take(Record record, Outlet& out) override {
    if (record.pytorch_code.empty()) return out.drop(record.id, "has no task's code");
    nlohmann::json request = request_for(record);
    if (request.is_null()) return questions_.ask(std::move(record), {});
    request["code"] = record.pytorch_code;
    questions_.ask(std::move(record), {std::move(request)});
  }
  nlohmann::ordered_json inputs() const override { return questions_.inputs(); }
  size_t waiting() const override { return questions_.waiting(); }
  size_t most_waiting() const override { return questions_.most_waiting(); }
  void advance(Outlet& out, Milliseconds patience) override {
    questions_.advance(patience, [&](Record record, const std::vector<nlohmann::json>& answers) {
      if (answers.empty()) return out.pass(std::move(record));
      const std::string id = record.id;
      Decision decision = checked(std::move(record), answers.front());
      if (!decision.reason.empty()) return out.drop(id, decision.reason, decision.detail);
      for (Record& passed : decision.passed) out.pass(std::move(passed));
    });
  }

 protected:
  struct Decision {
    std::vector<Record> passed;
    std::string reason = "", detail = "";  // with a reason the record is dropped
  };
  // Without `code`, which is added. Null: none, the record is passed on.
  virtual nlohmann::json request_for(const Record& record) const = 0;
  // Throws nlohmann's exceptions on an answer of another form: what a box says is not trusted.
  virtual Decision decide(Record record, const nlohmann::json& answer) = 0;
  // Of a record whose code could not be asked: `kind` is a word ("too_large"), `why` what happened.
  virtual Decision unanswered(Record /*record*/, const std::string& kind, const std::string& why) {
    return {{}, "not examined: " + kind, why};
  }

 private:
  Decision checked(Record record, const nlohmann::json& answer) try {
    if (answer.contains("failed"))
      return unanswered(std::move(record), answer.at("kind").get<std::string>(), answer.at("failed"));
    return decide(std::move(record), answer);
  } catch (const nlohmann::json::exception& error) {
    return {{}, "not examined: crash", concat("a box gave an answer of another form: ", error.what())};
  }

  CodeQuestions questions_;
};

}  // namespace bicrl::curation
