// A progress bar on the last line of a terminal, for phases without lines of their own:
//   evaluating  [########............]  104/256  12.3/s  ETA 0:12
// Where standard output is no terminal, or a dumb one, or this process runs in its background, nothing is
// written. Under mpirun it counts where mpirun's own output goes, as ranks write to a pseudo-terminal of its.
#pragma once
#include <cstdint>
#include <string>

#include "common/clock.h"

namespace bicrl {

// At most one bar is shown at a time, the youngest. Lines printed by print_line() and by the log take the
// bar's place, and its next update draws it anew below them. Thread-safe.
class ProgressBar {
 public:
  // `label` and `unit` in ASCII; `unit` stands behind the total ("responses"), or is empty. `done` of a phase
  // that goes on: the rate counts from there.
  ProgressBar(std::string label, int64_t total, std::string unit = "", int64_t done = 0);
  ~ProgressBar();  // takes it off the terminal
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Draws at most ten times a second, and always when all is done.
  void set(int64_t done);
  void advance(int64_t by = 1);
  // With a pace that the caller knows better ("830 tokens/s  ETA 0:12") than by what is done.
  void set(int64_t done, const std::string& pace);

 private:
  // Without a pace: by what is done.
  void update(int64_t done, const std::string* pace = nullptr);

  std::string label_;
  int64_t total_;
  std::string unit_;
  int64_t first_;
  int64_t done_;
  Stopwatch since_start_;
  Stopwatch since_drawn_;
  bool drawn_ = false;
};

// A line on standard output, in place of the bar if one is shown. Flushes.
void print_line(const std::string& line);

// Takes the bar off the terminal until its next update, for output by other means.
void hide_progress_bar();

// Whether a bar would be seen.
bool can_show_progress();

// "12.3/s  ETA 0:12", or with slow work "2.0 s each  ETA 0:12", of which `done_before` was done when the
// clock started; empty as long as nothing is known.
std::string progress_pace(int64_t done, int64_t total, int64_t done_before, double seconds);

// What a bar looks like in `width` columns; if they are few, the bar itself, then the pace are left out,
// then the text is cut. Never longer than `width`.
std::string progress_text(const std::string& label, int64_t done, int64_t total, const std::string& unit,
                          const std::string& pace, int width);

}  // namespace bicrl
