// Step `label`: a label by a value's range, of the record itself or on average over records that share
// another value.
//   label: its name; value; average_over: the shared value (none: each record by itself)
//   classes: [{name, below | at_most | above | at_least | equals | one_of}], the first that fits
//   otherwise: the label of the rest (none); average_over also adds the figure average_VALUE
#include <map>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "curation/record_spool.h"
#include "curation/selection/condition.h"
#include "curation/selection/known_values.h"
#include "curation/step.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

class Label : public Step {
 public:
  Label(const ConfigSection& p, const StepEnvironment& environment) : spool_(environment.directory) {
    label_ = p.required_text("label");
    if (is_built_in(label_)) p.reject("label", concat("'", label_, "' is a value that every record has"));
    value_ = p.required_text("value");
    average_over_ = p.text("average_over", "");
    otherwise_ = p.text("otherwise", "");
    for (const ConfigSection& item : p.sections("classes"))
      classes_.push_back({item.required_text("name"), Condition::on_value(judged(), item)});
    known_.expect(value_);
    if (!average_over_.empty()) known_.expect(average_over_);
    if (classes_.empty()) p.reject_later("classes", "name at least one class");
  }

  void take(Record record, Outlet& out) override {
    known_.see(record);
    if (average_over_.empty()) return out.pass(labelled(std::move(record)));
    const auto group = value_of(record, average_over_);
    const auto value = value_of(record, value_);
    if (group && value) {
      const double* number = std::get_if<double>(&*value);
      if (!number)
        throw InputError(
            concat("'", value_, "' of record ", record.id, " is no number: ", to_string(*value)));
      Mean& mean = means_[to_string(*group)];
      mean.sum += *number;
      ++mean.count;
    }
    spool_.add(record);
  }

  void finish(Outlet& out) override {
    known_.warn("label");
    for (size_t i = 0; i < spool_.size(); ++i) {
      Record record = spool_.at(i);
      if (const auto group = value_of(record, average_over_)) {
        const auto mean = means_.find(to_string(*group));
        if (mean != means_.end())
          record.figures[judged()] = mean->second.sum / static_cast<double>(mean->second.count);
      }
      out.pass(labelled(std::move(record)));
    }
  }

  Json card() const override { return {{"labelled", counts_}}; }

 private:
  struct Class {
    std::string name;
    Condition condition;
  };
  struct Mean {
    double sum = 0;
    int64_t count = 0;
  };

  std::string judged() const { return average_over_.empty() ? value_ : "average_" + value_; }

  // A record without the value gets no label.
  Record labelled(Record record) {
    if (!value_of(record, judged())) return record;
    std::string found = otherwise_;
    for (const Class& one : classes_)
      if (!one.condition.objection(record)) {
        found = one.name;
        break;
      }
    if (found.empty()) return record;
    record.labels[label_] = found;
    ++counts_[found];
    return record;
  }

  std::string label_, value_, average_over_, otherwise_;
  std::vector<Class> classes_;
  KnownValues known_;
  RecordSpool spool_;
  std::map<std::string, Mean> means_;
  std::map<std::string, int64_t> counts_;
};

const StepRegistration kLabelRegistered("label", "a label by a value's range, also on average over a task",
                                        [](const ConfigSection& p, const StepEnvironment& e) {
                                          return std::make_unique<Label>(p, e);
                                        });

}  // namespace
}  // namespace bicrl::curation
