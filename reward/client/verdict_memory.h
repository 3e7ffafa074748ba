// A bounded memory of verdicts by content hash; the least recently used one goes first. Not thread-safe.
#pragma once
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

#include "tasks/verdict.h"

namespace bicrl {

class VerdictMemory {
 public:
  explicit VerdictMemory(size_t capacity) : capacity_(capacity) {}

  // Valid until the next store(); nullptr where nothing is known.
  const Verdict* find(const std::string& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    recent_first_.splice(recent_first_.begin(), recent_first_, found->second);
    return &found->second->second;
  }

  void store(const std::string& key, const Verdict& verdict) {
    if (const auto known = places_.find(key); known != places_.end()) {
      recent_first_.erase(known->second);
      places_.erase(known);
    }
    recent_first_.emplace_front(key, verdict);
    places_[key] = recent_first_.begin();
    while (recent_first_.size() > capacity_) {
      places_.erase(recent_first_.back().first);
      recent_first_.pop_back();
    }
  }

  size_t size() const { return recent_first_.size(); }

 private:
  using Entries = std::list<std::pair<std::string, Verdict>>;
  size_t capacity_;
  Entries recent_first_;
  std::unordered_map<std::string, Entries::iterator> places_;
};

}  // namespace bicrl
