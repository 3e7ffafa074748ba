// A cache bounded by the cost of what it holds (bytes, or 1 each to bound the number), which drops what was
// used longest ago. Thread-safe: most of its owners have no lock around it, and values are handed out as
// copies, so that none is dropped under its reader.
#pragma once
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace bicrl {

template <class Value>
class LruCache {
 public:
  explicit LruCache(size_t max_cost) : max_cost_(max_cost) {}

  std::optional<Value> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    if (found == index_.end()) return std::nullopt;
    items_.splice(items_.begin(), items_, found->second);
    return found->second->value;
  }

  // Replaces a value of the same key. A value that costs more than the whole cache may is not kept.
  void insert(const std::string& key, Value value, size_t cost) {
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) erase(found->second);
    if (cost > max_cost_) return;
    items_.push_front({key, std::move(value), cost});
    index_[key] = items_.begin();
    cost_ += cost;
    while (cost_ > max_cost_) erase(std::prev(items_.end()));
  }

  size_t cost() const {
    const std::lock_guard lock(mutex_);
    return cost_;
  }

 private:
  struct Item {
    std::string key;
    Value value;
    size_t cost;
  };
  using Place = typename std::list<Item>::iterator;

  void erase(Place place) {
    cost_ -= place->cost;
    index_.erase(place->key);
    items_.erase(place);
  }

  size_t max_cost_;
  mutable std::mutex mutex_;
  size_t cost_ = 0;
  std::list<Item> items_;  // most recently used first
  std::unordered_map<std::string, Place> index_;
};

}  // namespace bicrl
