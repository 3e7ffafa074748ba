#include "curation/code/code_questions.h"

#include "common/error.h"
#include "common/hash.h"

namespace bicrl::curation {
namespace {

constexpr const char* kKind = "code";

}  // namespace

CodeReader& CodeQuestions::reader() {
  if (!reader_) reader_ = &environment_.services->code_reader();
  return *reader_;
}

void CodeQuestions::ask(Record record, std::vector<nlohmann::json> requests) {
  Asked asked{.record = std::move(record), .answers = {}};
  const uint64_t number = first_ + asked_.size();
  for (size_t place = 0; place < requests.size(); ++place) {
    const std::string key = hash_hex(
        {reader().basis(), requests[place].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
    asked.answers.push_back(environment_.ledger->find(kKind, key));
    if (asked.answers.back()) continue;
    ++asked.missing;
    const auto [question, is_new] = asking_.try_emplace(key, next_question_);
    in_work_[question->second].places.emplace_back(number, place);
    if (!is_new) continue;
    in_work_[next_question_].key = key;
    reader().submit(this, next_question_++, requests[place]);
  }
  asked_.push_back(std::move(asked));
}

void CodeQuestions::receive(Milliseconds patience) {
  auto answer = reader().next(this, patience);
  for (; answer; answer = reader().next(this, Milliseconds(0))) {
    const auto found = in_work_.find(answer->number);
    BICRL_CHECK(found != in_work_.end(), "an answer to no question: ", answer->number);
    const Question question = std::move(found->second);
    in_work_.erase(found);
    asking_.erase(question.key);
    // Another step may have asked the same meanwhile: records have what the ledger keeps.
    environment_.ledger->keep(kKind, question.key, answer->value);
    const nlohmann::json value = *environment_.ledger->find(kKind, question.key);
    for (const auto& [number, place] : question.places) {
      Asked& asked = asked_.at(number - first_);
      asked.answers[place] = value;
      --asked.missing;
    }
  }
}

void CodeQuestions::advance(Milliseconds patience, const Taker& take) {
  if (!in_work_.empty()) receive(asked_.front().missing == 0 ? Milliseconds(0) : patience);
  while (!asked_.empty() && asked_.front().missing == 0) {
    Asked head = std::move(asked_.front());
    asked_.pop_front();
    ++first_;
    std::vector<nlohmann::json> answers;
    for (auto& answer : head.answers) answers.push_back(std::move(*answer));
    take(std::move(head.record), answers);
  }
}

}  // namespace bicrl::curation
