// Step `select`: of records that share a value, the best.
//   by: the value (task); keep: of a group, at most (1; 0: all); best: orders, the first decides
//   agree: orders; a group's record that is first by all of them may stay
//   or_when: conditions; records that meet all of them may stay, too
// Without `agree` and `or_when` every record may stay.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "common/error.h"
#include "curation/record_spool.h"
#include "curation/selection/condition.h"
#include "curation/selection/known_values.h"
#include "curation/selection/preference.h"
#include "curation/step.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;
using Scores = std::vector<std::optional<double>>;

class Select : public Step {
 public:
  Select(const ConfigSection& p, const StepEnvironment& environment) : spool_(environment.directory) {
    by_ = p.text("by", "task");
    keep_ = static_cast<size_t>(p.integer("keep", 1, 0));
    agree_ = Preference::from_config(p, "agree");
    best_ = Preference::from_config(p, "best");
    for (const ConfigSection& condition : p.sections("or_when"))
      or_when_.push_back(Condition::from_config(condition));
    if (best_.empty()) best_ = agree_;
    if (best_.empty() && keep_ > 0)
      p.reject_later("best", "say which records are best, as in 'best: [highest speedup]'");
    if (keep_ == 0 && agree_.empty() && or_when_.empty())
      p.reject("keep", "0 keeps every record: say 'agree' or 'or_when', or how many");
    known_.expect(by_);
    known_.expect(best_);
    known_.expect(agree_);
    known_.expect(or_when_);
  }

  void take(Record record, Outlet& out) override {
    known_.see(record);
    const auto group = value_of(record, by_);
    if (!group) return out.drop(record.id, "has no " + by_);
    Candidate candidate{.record = spool_.size(), .best = {}, .agree = {}, .meets = !or_when_.empty()};
    for (const Preference& order : best_) candidate.best.push_back(order.score(record));
    for (const Preference& order : agree_) candidate.agree.push_back(order.score(record));
    for (const Condition& condition : or_when_)
      candidate.meets = candidate.meets && !condition.objection(record);
    const auto [known, is_new] = number_of_.emplace(to_string(*group), groups_.size());
    if (is_new) groups_.push_back({.name = known->first, .candidates = {}});
    groups_[known->second].candidates.push_back(std::move(candidate));
    group_of_.push_back(known->second);
    spool_.add(record);
  }

  void finish(Outlet& out) override {
    known_.warn("select");
    std::vector<bool> stays(spool_.size(), false);
    std::vector<bool> is_kept(groups_.size(), false);
    for (size_t g = 0; g < groups_.size(); ++g)
      for (const size_t record : chosen(groups_[g])) stays[record] = is_kept[g] = true;
    for (size_t i = 0; i < spool_.size(); ++i) {
      Record record = spool_.at(i);
      const size_t g = group_of_[i];
      if (stays[i])
        out.pass(std::move(record));
      else if (is_kept[g])
        out.drop(record.id, concat("another of its ", by_, " was selected"), groups_[g].name);
      else
        out.drop(record.id, concat("no rule holds for its ", by_), groups_[g].name);
    }
    groups_kept_ = std::ranges::count(is_kept, true);
  }

  Json card() const override { return {{"groups", groups_.size()}, {"groups_kept", groups_kept_}}; }

 private:
  struct Candidate {
    size_t record = 0;  // in the spool
    Scores best, agree;
    bool meets = false;  // every condition of or_when
  };
  struct Group {
    std::string name;
    std::vector<Candidate> candidates;
  };

  // The first candidate that none excels in any of the orders.
  const Candidate* agreed(const Group& group) const {
    for (const Candidate& one : group.candidates) {
      bool first = true;
      for (size_t order = 0; order < agree_.size(); ++order)
        for (const Candidate& other : group.candidates)
          first = first && one.agree[order] && !(other.agree[order] > one.agree[order]);
      if (first) return &one;
    }
    return nullptr;
  }

  std::vector<size_t> chosen(const Group& group) const {
    std::vector<const Candidate*> candidates;
    const bool all = agree_.empty() && or_when_.empty();
    const Candidate* first = agree_.empty() ? nullptr : agreed(group);
    for (const Candidate& one : group.candidates)
      if (all || one.meets || &one == first) candidates.push_back(&one);
    // A missing score is less than any; equal ones keep the records' order.
    std::ranges::stable_sort(candidates,
                             [](const Candidate* a, const Candidate* b) { return a->best > b->best; });
    if (keep_ > 0 && candidates.size() > keep_) candidates.resize(keep_);
    std::vector<size_t> records;
    for (const Candidate* one : candidates) records.push_back(one->record);
    return records;
  }

  std::string by_;
  size_t keep_ = 1;
  std::vector<Preference> best_, agree_;
  std::vector<Condition> or_when_;
  KnownValues known_;
  RecordSpool spool_;
  std::unordered_map<std::string, size_t> number_of_;  // of a group
  std::vector<Group> groups_;
  std::vector<size_t> group_of_;  // of each record
  int64_t groups_kept_ = 0;
};

const StepRegistration kSelectRegistered("select", "of records that share a value, the best",
                                         [](const ConfigSection& p, const StepEnvironment& e) {
                                           return std::make_unique<Select>(p, e);
                                         });

}  // namespace
}  // namespace bicrl::curation
