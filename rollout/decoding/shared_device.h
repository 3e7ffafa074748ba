// A device that somebody else needs alone now and then, as whoever generates on it sees that: asked between
// forwards, and lent while none is under way.
#pragma once

namespace bicrl {

class SharedDevice {
 public:
  virtual ~SharedDevice() = default;
  virtual bool is_wanted() = 0;
  // Returns when the other one has had it.
  virtual void lend() = 0;
};

}  // namespace bicrl
