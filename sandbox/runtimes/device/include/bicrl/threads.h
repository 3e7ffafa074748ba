// <mutex>, <atomic>
#pragma once
#include "bicrl/core.h"

namespace std {

class mutex {
 public:
  constexpr mutex() = default;
  void lock();
  void unlock();
  bool try_lock();
};
using recursive_mutex = mutex;
template <class M>
class lock_guard {
 public:
  explicit lock_guard(M&);
};
template <class M>
class unique_lock {
 public:
  explicit unique_lock(M&);
  void lock();
  void unlock();
};
template <class M>
class scoped_lock {
 public:
  explicit scoped_lock(M&);
};
struct once_flag {};
template <class F, class... A>
void call_once(once_flag&, F&&, A&&...);
template <class T>
class atomic {
 public:
  constexpr atomic() = default;
  constexpr atomic(T) {}
  T load() const;
  void store(T);
  operator T() const;
  T operator=(T);
  T operator++();
  T operator++(int);
  T fetch_add(T);
};

}  // namespace std
