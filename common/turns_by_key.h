// One at a time for each key: who wants what another one is making waits for it, and then finds it made.
// Thread-safe.
#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <utility>

namespace bicrl {

class TurnsByKey {
 public:
  // Held until it is destroyed. The turns outlive it.
  class Turn {
   public:
    Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)), key_(std::move(other.key_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_) turns_->end(key_);
    }

   private:
    friend class TurnsByKey;
    Turn(TurnsByKey& turns, std::string key) : turns_(&turns), key_(std::move(key)) {}
    TurnsByKey* turns_;
    std::string key_;
  };

  // Waits until nobody else has this key's. Nothing: a stop was requested before that.
  std::optional<Turn> take(const std::string& key, std::stop_token stop = {}) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return !taken_.contains(key); })) return std::nullopt;
    taken_.insert(key);
    return Turn(*this, key);
  }

 private:
  void end(const std::string& key) {
    const std::lock_guard lock(mutex_);
    taken_.erase(key);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::unordered_set<std::string> taken_;
};

}  // namespace bicrl
