// Step `deduplicate`: drops records that repeat an earlier one.
//   of: task (answers to one task repeat nothing) | answer (task and program)
//   likeness: exact text | normalised text (without comments and blanks; of tasks without names, too) |
//   tree: also above `similarity`
//   shapes: ignore | match (numbers and makers of inputs; ignore for tasks, match for answers)
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "common/error.h"
#include "common/hash.h"
#include "curation/code/code_likeness.h"
#include "curation/code/code_questions.h"
#include "curation/code/program_text.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

class Deduplicate : public Step {
 public:
  Deduplicate(const ConfigSection& p, const StepEnvironment& environment) : questions_(environment) {
    of_answers_ = p.choice("of", "task", {"task", "answer"}) == "answer";
    likeness_ = p.choice("likeness", "normalised", {"exact", "normalised", "tree"});
    if (likeness_ == "tree")
      similarity_ = p.real("similarity", 0.9, 0, 1);
    else
      p.refuse_without_effect("similarity", concat("with 'likeness: ", likeness_, "'"));
    if (likeness_ == "exact")
      p.refuse_without_effect("shapes", "with 'likeness: exact'");
    else
      match_shapes_ = p.choice("shapes", of_answers_ ? "match" : "ignore", {"ignore", "match"}) == "match";
  }

  void take(Record record, Outlet& out) override {
    if (record.pytorch_code.empty()) return out.drop(record.id, "has no task's code");
    if (likeness_ == "exact") {
      CodePortrait portrait;
      portrait.text = hash_hex({record.pytorch_code, of_answers_ ? record.answer.program : ""});
      return decide(std::move(record), std::move(portrait), out);
    }
    nlohmann::json request = {{"kind", "tree"}, {"code", record.pytorch_code}, {"shapes", match_shapes_}};
    questions_.ask(std::move(record), {std::move(request)});
  }
  size_t waiting() const override { return questions_.waiting(); }
  size_t most_waiting() const override { return likeness_ == "exact" ? 0 : questions_.most_waiting(); }
  void advance(Outlet& out, Milliseconds patience) override {
    questions_.advance(patience, [&](Record record, const std::vector<nlohmann::json>& answers) {
      CodePortrait portrait = portrait_of("", answers.front(), nullptr);
      if (portrait.text.empty()) return out.drop(record.id, "cannot be parsed");
      // Only likeness of trees looks at them, and a portrait of every record is kept.
      if (likeness_ != "tree") portrait.features = std::vector<uint64_t>();
      decide(std::move(record), std::move(portrait), out);
    });
  }

  Json inputs() const override { return likeness_ == "exact" ? Json::object() : questions_.inputs(); }
  Json card() const override { return {{"of", of_answers_ ? "answer" : "task"}, {"likeness", likeness_}}; }

 private:
  struct Known {
    std::string id, task_id;
    CodePortrait portrait;
  };

  // Answers are compared with those to tasks of the same text, tasks with all others.
  void decide(Record record, CodePortrait portrait, Outlet& out) {
    std::string place;
    if (of_answers_ && likeness_ != "exact") {
      place = portrait.text;
      const std::vector<std::string> words = program_words(record.answer.program);
      std::string text;
      for (const std::string& word : words) text += word + "\n";
      portrait.text = hash_hex({place, text});
      if (likeness_ == "tree") portrait.features = program_features(words);
    }
    std::string why;
    if (const Known* earlier = repeated(record, portrait, place, why))
      return out.drop(record.id, "repeats another record", concat(earlier->id, ": ", why));
    by_text_.emplace(portrait.text, known_.size());
    by_place_[place].push_back(known_.size());
    known_.push_back({record.id, record.task_id, std::move(portrait)});
    out.pass(std::move(record));
  }

  const Known* repeated(const Record& record, const CodePortrait& portrait, const std::string& place,
                        std::string& why) {
    const auto is_other = [&](const Known& known) { return of_answers_ || known.task_id != record.task_id; };
    if (const auto found = by_text_.find(portrait.text);
        found != by_text_.end() && is_other(known_[found->second])) {
      why = likeness_ == "exact" ? "the same text"
            : of_answers_        ? "the same text but for comments and blanks"
                                 : "the same text but for names";
      return &known_[found->second];
    }
    if (likeness_ != "tree") return nullptr;
    for (const size_t number : by_place_[place])
      if (is_other(known_[number])) {
        why = likeness(portrait, known_[number].portrait, similarity_);
        if (!why.empty()) return &known_[number];
      }
    return nullptr;
  }

  bool of_answers_ = false;
  std::string likeness_;
  double similarity_ = 0.9;
  bool match_shapes_ = false;
  CodeQuestions questions_;
  std::vector<Known> known_;
  std::unordered_map<std::string, size_t> by_text_;                // the first record
  std::unordered_map<std::string, std::vector<size_t>> by_place_;  // those that are compared
};

const StepRegistration kDeduplicateRegistered("deduplicate", "drops records that repeat an earlier one",
                                              [](const ConfigSection& p, const StepEnvironment& e) {
                                                return std::make_unique<Deduplicate>(p, e);
                                              });

}  // namespace
}  // namespace bicrl::curation
