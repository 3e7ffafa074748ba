// Step `filter`: keeps the records that meet every condition.
//   conditions: a list of {value, equals | one_of | at_least | above | at_most | below}
//   keep_unknown: whether a record stays that has no such value
#include <map>

#include "common/log.h"
#include "common/spelling.h"
#include "curation/selection/condition.h"
#include "curation/step.h"

namespace bicrl::curation {
namespace {

class Filter : public Step {
 public:
  explicit Filter(const ConfigSection& p) {
    for (const ConfigSection& condition : p.sections("conditions"))
      conditions_.push_back(Condition::from_config(condition));
    if (conditions_.empty()) p.reject("conditions", "a filter has at least one condition");
    keep_unknown_ = p.boolean("keep_unknown", false);
  }

  void take(Record record, Outlet& out) override {
    ++records_;
    for (const Condition& condition : conditions_) {
      const auto value = value_of(record, condition.value());
      if (value) ++known_[condition.value()];
      if (!value && keep_unknown_) continue;
      if (const auto objection = condition.objection(record))
        return out.drop(record.id, *objection, value ? to_string(*value) : "");
    }
    out.pass(std::move(record));
  }

  // A misspelt value looks like one that no record has.
  void finish(Outlet&) override {
    for (const Condition& condition : conditions_) {
      if (records_ == 0 || known_[condition.value()] > 0) continue;
      const auto nearest = nearest_spelling(condition.value(), value_names());
      log_warning("filter: none of ", records_, " records has the value '", condition.value(), "'",
                  nearest && *nearest != condition.value() ? "; did you mean " + *nearest + "?" : "");
    }
  }

 private:
  std::vector<Condition> conditions_;
  bool keep_unknown_ = false;
  int64_t records_ = 0;
  std::map<std::string, int64_t> known_;
};

const StepRegistration kRegistered("filter", "keeps the records that meet every condition",
                                   [](const ConfigSection& p, const StepEnvironment&) {
                                     return std::make_unique<Filter>(p);
                                   });

}  // namespace
}  // namespace bicrl::curation
