// Questions about records' code, answered by boxes and remembered in the ledger. Answers come in the records'
// order, whichever is ready first. Equal questions are asked once. Not thread-safe.
#pragma once
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "curation/step.h"

namespace bicrl::curation {

class CodeQuestions {
 public:
  // `requests`: one or several about the same code; `take` gets as many answers.
  using Taker = std::function<void(Record record, const std::vector<nlohmann::json>& answers)>;

  explicit CodeQuestions(const StepEnvironment& environment) : environment_(environment) {}
  void ask(Record record, std::vector<nlohmann::json> requests);
  // Of a step's inputs: what the answers depend on.
  nlohmann::ordered_json inputs() const { return {{"boxes", environment_.services->code_reader_basis()}}; }
  size_t waiting() const { return asked_.size(); }
  size_t most_waiting() const { return environment_.services->code_reader().capacity(); }
  // Hands the records at the head that have all their answers to `take`.
  void advance(Milliseconds patience, const Taker& take);

 private:
  struct Asked {
    Record record;
    std::vector<std::optional<nlohmann::json>> answers;
    size_t missing = 0;
  };
  struct Question {
    std::string key;
    std::vector<std::pair<uint64_t, size_t>>
        places;  // that wait for it: a record's number, which of its answers
  };
  CodeReader& reader();
  void receive(Milliseconds patience);

  const StepEnvironment& environment_;
  CodeReader* reader_ = nullptr;
  std::deque<Asked> asked_;
  uint64_t first_ = 0;                                // number of the head
  std::unordered_map<uint64_t, Question> in_work_;    // by number
  std::unordered_map<std::string, uint64_t> asking_;  // the same, by key
  uint64_t next_question_ = 0;
};

}  // namespace bicrl::curation
