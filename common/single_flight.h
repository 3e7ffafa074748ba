// Waits for one in-flight piece of work per key; who comes later finds it done. Thread-safe.
#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <utility>

namespace bicrl {

class SingleFlight {
 public:
  // Held until it is destroyed. The object outlives it.
  class Flight {
   public:
    Flight(Flight&& other) noexcept
        : flights_(std::exchange(other.flights_, nullptr)), key_(std::move(other.key_)) {}
    Flight& operator=(Flight&&) = delete;
    ~Flight() {
      if (flights_) flights_->end(key_);
    }

   private:
    friend class SingleFlight;
    Flight(SingleFlight& flights, std::string key) : flights_(&flights), key_(std::move(key)) {}
    SingleFlight* flights_;
    std::string key_;
  };

  // Waits until nobody else has this key's. Nothing: a stop was requested before that.
  std::optional<Flight> take(const std::string& key, std::stop_token stop = {}) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return !taken_.contains(key); })) return std::nullopt;
    taken_.insert(key);
    return Flight(*this, key);
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
