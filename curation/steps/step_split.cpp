// Step `split`: labels every record with a part of the data. Records that share the value have one part.
//   by: the value (original_task: a task with its variants); label: its name (split)
//   parts: [{name, share}] (train 0.9, validation 0.1); seed
#include <map>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/rng.h"
#include "curation/selection/known_values.h"
#include "curation/selection/shares.h"
#include "curation/step.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

class Split : public Step {
 public:
  explicit Split(const ConfigSection& p) {
    by_ = p.text("by", "original_task");
    known_.expect(by_);
    label_ = p.text("label", "split");
    if (is_built_in(label_)) p.reject("label", concat("'", label_, "' is a value that every record has"));
    seed_ = static_cast<uint64_t>(p.integer("seed", 1, 0));
    parts_ = shares_from_config(p, "parts");
    if (parts_.empty()) parts_ = {{"train", 0.9}, {"validation", 0.1}};
  }

  void take(Record record, Outlet& out) override {
    known_.see(record);
    const auto value = value_of(record, by_);
    if (!value) return out.drop(record.id, "has no " + by_);
    const std::string& part = part_of(to_string(*value));
    record.labels[label_] = part;
    ++records_[part];
    out.pass(std::move(record));
  }

  void finish(Outlet&) override { known_.warn("split"); }

  Json card() const override { return {{"parts", records_}}; }

 private:
  // By the value alone: other data beside it move nothing to another part.
  const std::string& part_of(const std::string& value) const {
    double place = uniform_at(mix_key(seed_, value), 0);
    for (const Share& part : parts_) {
      if (place < part.share) return part.name;
      place -= part.share;
    }
    return parts_.back().name;  // rounding
  }

  KnownValues known_;
  std::string by_, label_;
  uint64_t seed_ = 1;
  std::vector<Share> parts_;
  std::map<std::string, int64_t> records_;
};

const StepRegistration kSplitRegistered("split", "labels every record with a part of the data, by task",
                                        [](const ConfigSection& p, const StepEnvironment&) {
                                          return std::make_unique<Split>(p);
                                        });

}  // namespace
}  // namespace bicrl::curation
