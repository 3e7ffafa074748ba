// Step `balance`: as many records as have given shares of a value's classes.
//   by: the value; shares: [{name, share}] (equal ones of all classes that occur); records: at most (0: all)
//   seed: which records of a class stay
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/error.h"
#include "common/log.h"
#include "common/rng.h"
#include "curation/record_spool.h"
#include "curation/selection/known_values.h"
#include "curation/selection/shares.h"
#include "curation/step.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

class Balance : public Step {
 public:
  Balance(const ConfigSection& p, const StepEnvironment& environment) : spool_(environment.directory) {
    by_ = p.required_text("by");
    known_.expect(by_);
    shares_ = shares_from_config(p, "shares");
    records_ = p.integer("records", 0, 0);
    seed_ = static_cast<uint64_t>(p.integer("seed", 1, 0));
  }

  void take(Record record, Outlet& out) override {
    known_.see(record);
    const auto value = value_of(record, by_);
    if (!value) return out.drop(record.id, "has no " + by_);
    const std::string name = to_string(*value);
    const auto is_of = [&](const Share& share) { return share.name == name && share.share > 0; };
    if (!shares_.empty() && std::ranges::none_of(shares_, is_of))
      return out.drop(record.id, concat("its ", by_, " has no share"), name);
    // A record's rank depends on its name alone, so that others beside it change little.
    members_[name].push_back({.rank = mix_key(seed_, record.id), .record = spool_.size()});
    class_of_.push_back(name);
    spool_.add(record);
  }

  void finish(Outlet& out) override {
    known_.warn("balance");
    if (shares_.empty())
      for (const auto& [name, members] : members_)
        shares_.push_back({name, 1 / static_cast<double>(members_.size())});
    const std::vector<int64_t> counts = most_that_fit();
    note_empty_classes(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
    for (const std::string& note : notes_) log_warning("balance: ", note);
    std::vector<bool> stays(spool_.size(), false);
    for (size_t i = 0; i < shares_.size(); ++i) {
      std::vector<Member>& members = members_[shares_[i].name];
      std::ranges::sort(members, {}, [](const Member& m) { return std::pair(m.rank, m.record); });
      for (int64_t k = 0; k < counts[i]; ++k) stays[members[static_cast<size_t>(k)].record] = true;
      classes_[shares_[i].name] = {{"in", members.size()}, {"out", counts[i]}};
    }
    for (size_t i = 0; i < spool_.size(); ++i) {
      Record record = spool_.at(i);
      if (stays[i])
        out.pass(std::move(record));
      else
        out.drop(record.id, concat("above the share of its ", by_), class_of_[i]);
    }
  }

  Json card() const override {
    Json card = {{"by", by_}, {"balanced", classes_}};
    if (!notes_.empty()) card["notes"] = notes_;
    return card;
  }

 private:
  struct Member {
    uint64_t rank = 0;
    size_t record = 0;  // in the spool
  };

  std::vector<int64_t> most_that_fit() {
    auto total = static_cast<int64_t>(spool_.size());
    if (records_ > 0) total = std::min(total, records_);
    for (; total > 0; --total) {
      const std::vector<int64_t> counts = quotas(shares_, total);
      bool fits = true;
      for (size_t i = 0; i < shares_.size(); ++i)
        fits = fits && counts[i] <= static_cast<int64_t>(members_[shares_[i].name].size());
      if (fits) return counts;
    }
    return std::vector<int64_t>(shares_.size(), 0);
  }

  // Classes that are asked for and have no record bound all the others.
  void note_empty_classes(int64_t stay) {
    std::string empty;
    char share_text[32];
    for (const Share& share : shares_)
      if (share.share > 0 && members_[share.name].empty()) {
        snprintf(share_text, sizeof share_text, "' (%.2f %%)", share.share * 100);
        empty += concat(empty.empty() ? "'" : ", '", share.name, share_text);
      }
    if (!empty.empty())
      notes_.push_back(concat("no record has the ", by_, " ", empty, ", which have shares: only ", stay,
                              " of ", spool_.size(), " records stay"));
  }

  std::string by_;
  std::vector<Share> shares_;
  std::vector<std::string> notes_;
  int64_t records_ = 0;
  uint64_t seed_ = 1;
  KnownValues known_;
  RecordSpool spool_;
  std::map<std::string, std::vector<Member>> members_;
  std::vector<std::string> class_of_;  // of each record
  Json classes_ = Json::object();
};

const StepRegistration kBalanceRegistered("balance",
                                          "as many records as have given shares of a value's classes",
                                          [](const ConfigSection& p, const StepEnvironment& e) {
                                            return std::make_unique<Balance>(p, e);
                                          });

}  // namespace
}  // namespace bicrl::curation
