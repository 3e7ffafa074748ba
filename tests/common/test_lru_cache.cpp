// The cache: what is dropped, in which order, and what it costs.
#include "common/lru_cache.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <thread>
#include <vector>

using namespace bicrl;

TEST_CASE("a cache bounded in number forgets what was used longest ago") {
  LruCache<int> cache(2);
  cache.insert("a", 1, 1);
  cache.insert("b", 2, 1);
  CHECK(cache.find("a") == 1);
  cache.insert("c", 3, 1);
  CHECK_FALSE(cache.find("b"));
  CHECK(cache.find("a") == 1);
  cache.insert("a", 4, 1);
  CHECK(cache.cost() == 2);
  CHECK(cache.find("a") == 4);
  CHECK(cache.find("c") == 3);
  LruCache<int> none(0);
  none.insert("a", 1, 1);
  CHECK_FALSE(none.find("a"));
}

TEST_CASE("a cache bounded in bytes drops as many as it must, and keeps nothing larger than itself") {
  LruCache<std::string> cache(100);
  for (const char* key : {"a", "b", "c"}) cache.insert(key, key, 30);
  CHECK(cache.cost() == 90);
  cache.insert("d", "d", 60);  // in place of the two oldest
  CHECK(cache.cost() == 90);
  CHECK_FALSE(cache.find("a"));
  CHECK_FALSE(cache.find("b"));
  CHECK(cache.find("c") == "c");
  cache.insert("c", "large", 101);
  CHECK_FALSE(cache.find("c"));  // what it replaces is gone, too
  CHECK(cache.find("d") == "d");
  CHECK(cache.cost() == 60);
}

TEST_CASE("a cache that several threads use stays within its bound and never mixes values up") {
  LruCache<std::string> cache(10);
  std::atomic<int> mixed_up = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        const std::string key = std::to_string((i * 7 + t) % 23);
        if (const auto known = cache.find(key)) mixed_up += *known != key;
        cache.insert(key, key, 1);
      }
    });
  threads.clear();
  CHECK(mixed_up == 0);
  CHECK(cache.cost() == 10);
}
