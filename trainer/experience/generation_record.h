// Measurements of a rank's generation in a step: the forwards that each response took, and how long forwards
// took by their rows. Plain values.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace bicrl {

// Sums over forwards: a line of seconds by rows follows from them, and those of ranks add up.
struct ForwardTimes {
  double forwards = 0, rows = 0, squared_rows = 0, seconds = 0, seconds_times_rows = 0;

  void add(double rows_of_forward, double seconds_of_forward) {
    ++forwards;
    rows += rows_of_forward;
    squared_rows += rows_of_forward * rows_of_forward;
    seconds += seconds_of_forward;
    seconds_times_rows += seconds_of_forward * rows_of_forward;
  }
  ForwardTimes& operator+=(const ForwardTimes& other) {
    forwards += other.forwards;
    rows += other.rows;
    squared_rows += other.squared_rows;
    seconds += other.seconds;
    seconds_times_rows += other.seconds_times_rows;
    return *this;
  }

  // Seconds of a forward with so many rows, by least squares; neither term below zero.
  struct Line {
    double fixed_s = 0, each_row_s = 0;
    double seconds(double rows) const { return fixed_s + each_row_s * rows; }
  };
  Line line() const {
    if (forwards == 0) return {};
    const double mean = seconds / forwards, variance = forwards * squared_rows - rows * rows;
    if (rows == 0 || variance <= 1e-9 * forwards * squared_rows) return {.fixed_s = mean};
    const double slope = (forwards * seconds_times_rows - rows * seconds) / variance;
    const double each_row_s = std::clamp(slope, 0.0, seconds / rows);
    return {.fixed_s = mean - each_row_s * rows / forwards, .each_row_s = each_row_s};
  }
};

// One response: its group and the forwards in which it was denoised.
struct ResponseForwards {
  int64_t group = 0;
  int64_t forwards = 0;
};

struct GenerationRecord {
  std::vector<ResponseForwards> responses;  // by group and sample
  ForwardTimes times;
};

}  // namespace bicrl
