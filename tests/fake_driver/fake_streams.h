// The pretended device's time. Work is done when it is issued, and takes as long as its kind does: of events
// the difference is exactly that, and the host meets them no sooner by its own clock.
#pragma once
#include <functional>

namespace fake_driver {

// 0, or what a lost context says to every call that follows.
extern int state;

// Fills return before the device has done them, which shows where memory is unmapped.
extern bool fills_are_under_way;

// Does it, or keeps it for the graph that is being captured. What `work` returns, or 0.
int enqueue(double milliseconds, std::function<int()> work);

}  // namespace fake_driver
