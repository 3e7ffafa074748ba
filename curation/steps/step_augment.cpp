// Step `augment`: beside each record variants of it whose task's inputs have other sizes. A variant has the
// program and no verdict: `verify` comes behind.
//   variants: of a record, at most; factors: of sizes; seed; most_elements: of a variant's inputs
#include <cstdlib>

#include "curation/code/question_step.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

class Augment : public QuestionStep {
 public:
  Augment(const ConfigSection& p, const StepEnvironment& environment) : QuestionStep(environment) {
    variants_ = p.integer("variants", 2, 1, 64);
    seed_ = static_cast<uint64_t>(p.integer("seed", 1, 0));
    most_elements_ = p.integer("most_elements", 1 << 24, 1);
    for (const std::string& text : p.texts("factors", {"0.5", "2", "4"})) {
      char* end = nullptr;
      const double factor = strtod(text.c_str(), &end);
      if (text.empty() || *end != '\0' || !(factor > 0 && factor <= 1024) || factor == 1)
        p.reject("factors", concat("'", text, "' is no factor above 0, at most 1024 and other than 1"));
      factors_.push_back(factor);
    }
  }

  Json card() const override { return {{"variants", made_}, {"without_variants", without_}}; }

 protected:
  nlohmann::json request_for(const Record&) const override {
    return {{"kind", "variants"},
            {"count", variants_},
            {"factors", factors_},
            {"seed", seed_},
            {"most_elements", most_elements_}};
  }

  Decision decide(Record record, const nlohmann::json& answer) override {
    Decision decision{.passed = {record}};
    for (const auto& variant : answer.at("variants")) {
      const std::string ending = concat("+", decision.passed.size());
      Record other = record;
      other.parent = record.id;
      other.id = record.id + ending;
      other.labels[kOriginalTask] = record.original_task();
      other.task_id = record.task_id + ending;
      other.change_code(variant.at("code").get<std::string>());
      other.labels["shapes"] = variant.at("shapes").dump();
      other.provenance.seeds.push_back(seed_);
      for (const char* id_of_original : {"uuid", "problem_id", "published_task_id"})
        other.labels.erase(id_of_original);
      decision.passed.push_back(std::move(other));
    }
    made_ += static_cast<int64_t>(decision.passed.size()) - 1;
    without_ += decision.passed.size() == 1;
    return decision;
  }

  // What cannot be run at its own sizes, or not in time, may be a sound task all the same.
  Decision unanswered(Record record, const std::string&, const std::string&) override {
    ++without_;
    return {{std::move(record)}};
  }

 private:
  int64_t variants_ = 2, most_elements_ = 0;
  uint64_t seed_ = 1;
  std::vector<double> factors_;
  int64_t made_ = 0, without_ = 0;
};

const StepRegistration kAugmentRegistered("augment", "variants of each record with other sizes of inputs",
                                          [](const ConfigSection& p, const StepEnvironment& e) {
                                            return std::make_unique<Augment>(p, e);
                                          });

}  // namespace
}  // namespace bicrl::curation
