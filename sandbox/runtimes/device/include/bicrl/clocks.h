// <chrono>
#pragma once
#include "bicrl/core.h"

namespace std {

namespace chrono {
struct time_point {};
template <class R, class P = void>
struct duration {
  template <class T>
  duration(const T&);
  R count() const;
};
using seconds = duration<long>;
using milliseconds = duration<long>;
using microseconds = duration<long>;
using nanoseconds = duration<long>;
nanoseconds operator-(time_point, time_point);
struct high_resolution_clock {
  static time_point now();
};
using steady_clock = high_resolution_clock;
using system_clock = high_resolution_clock;
template <class D, class S>
D duration_cast(const S&);
}  // namespace chrono

}  // namespace std
