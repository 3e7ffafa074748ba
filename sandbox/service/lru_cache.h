// A cache bounded in bytes that drops what was used longest ago. Thread-safe.
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
  explicit LruCache(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  std::optional<Value> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    if (found == index_.end()) return std::nullopt;
    items_.splice(items_.begin(), items_, found->second);
    return found->second->value;
  }

  // Replaces a value of the same key. Values over the whole limit are not kept.
  void insert(const std::string& key, Value value, size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) erase(found->second);
    if (bytes > limit_bytes_) return;
    items_.push_front({key, std::move(value), bytes});
    index_[key] = items_.begin();
    bytes_ += bytes;
    while (bytes_ > limit_bytes_) erase(std::prev(items_.end()));
  }

  size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct Item {
    std::string key;
    Value value;
    size_t bytes;
  };
  using Place = typename std::list<Item>::iterator;

  void erase(Place place) {
    bytes_ -= place->bytes;
    index_.erase(place->key);
    items_.erase(place);
  }

  size_t limit_bytes_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;
  std::list<Item> items_;  // most recently used first
  std::unordered_map<std::string, Place> index_;
};

}  // namespace bicrl
