// Elapsed time from the monotonic clock, which a changed wall clock does not move.
#pragma once
#include <chrono>
#include <string>

namespace bicrl {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  double ms() const { return seconds() * 1e3; }
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Seconds as "12 s", "3:05" or "2:10:00".
std::string clock_text(double seconds);

}  // namespace bicrl
