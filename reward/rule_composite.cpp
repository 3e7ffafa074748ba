// Rule `composite`: a weighted sum of other rules, each with its own parameters. Its terms are those of the
// parts, weighted, under the part's name.
#include <algorithm>

#include "reward/reward_rule.h"

namespace bicrl {
namespace {

class CompositeRule : public RewardRule {
 public:
  explicit CompositeRule(const ConfigSection& parameters) {
    for (const ConfigSection& section : parameters.sections("rules")) add(section);
    std::erase_if(parts_, [](const Part& part) { return part.weight == 0; });
    if (parts_.empty()) parameters.reject("rules", "needs at least one rule with a weight above 0");
    for (const Part& part : parts_) needs(part.rule->figure_needs());
  }

  std::vector<RewardTerm> score(const Verdict& verdict) const override {
    std::vector<RewardTerm> terms;
    for (const Part& part : parts_)
      for (const RewardTerm& term : part.rule->score(verdict))
        terms.push_back({part.name + "." + term.name, part.weight * term.value});
    return terms;
  }

  bool uses_times() const override {
    return std::ranges::any_of(parts_, [](const Part& part) { return part.rule->uses_times(); });
  }

  // The parts' times come from one measurement, so that their noise adds up.
  double min_deviation() const override {
    double sum = 0;
    for (const Part& part : parts_) sum += part.weight * part.rule->min_deviation();
    return sum;
  }

 private:
  struct Part {
    std::string name;
    double weight = 1;
    std::unique_ptr<RewardRule> rule;
  };

  void add(const ConfigSection& section) {
    Part part;
    const std::string rule = section.required_text("rule");
    if (rule == "composite") section.reject("rule", "a composite is no part of a composite");
    part.name = section.text("name", rule);
    if (part.name.empty()) section.reject("name", "is empty");
    for (const Part& other : parts_)
      if (other.name == part.name)
        section.reject("name", concat("two rules are called '", part.name, "': give one another 'name'"));
    part.weight = section.real("weight", 1, 0, kMaxReward);
    part.rule = make_reward_rule(section);
    parts_.push_back(std::move(part));
  }

  std::vector<Part> parts_;
};

const RewardRuleRegistration kCompositeRegistered("composite", [](const ConfigSection& p) {
  return std::make_unique<CompositeRule>(p);
});

}  // namespace
}  // namespace bicrl
