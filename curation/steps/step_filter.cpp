// Step `filter`: keeps the records that meet every condition.
//   conditions: a list of {value, equals | one_of | at_least | above | at_most | below}
//   keep_unknown: whether a record stays that has no such value
#include "curation/selection/condition.h"
#include "curation/selection/known_values.h"
#include "curation/step.h"

namespace bicrl::curation {
namespace {

class Filter : public Step {
 public:
  explicit Filter(const ConfigSection& p) {
    for (const ConfigSection& condition : p.sections("conditions"))
      conditions_.push_back(Condition::from_config(condition));
    if (conditions_.empty()) p.reject_later("conditions", "a filter has at least one condition");
    keep_unknown_ = p.boolean("keep_unknown", false);
    known_.expect(conditions_);
  }

  void take(Record record, Outlet& out) override {
    known_.see(record);
    for (const Condition& condition : conditions_) {
      const auto value = value_of(record, condition.value());
      if (!value && keep_unknown_) continue;
      if (const auto objection = condition.objection(record))
        return out.drop(record.id, *objection, value ? to_string(*value) : "");
    }
    out.pass(std::move(record));
  }

  void finish(Outlet&) override { known_.warn("filter"); }

 private:
  std::vector<Condition> conditions_;
  bool keep_unknown_ = false;
  KnownValues known_;
};

const StepRegistration kFilterRegistered("filter", "keeps the records that meet every condition",
                                         [](const ConfigSection& p, const StepEnvironment&) {
                                           return std::make_unique<Filter>(p);
                                         });

}  // namespace
}  // namespace bicrl::curation
