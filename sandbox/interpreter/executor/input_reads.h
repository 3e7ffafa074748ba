// Observer of the input bytes that a run reads: by kernels, and by copies of the host part, whose whole
// source counts as read. Not thread-safe.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sandbox/interpreter/ptx/execution/observer.h"
#include "sandbox/recorder/trace/trace.h"

namespace bicrl {

class InputReads : public ptx::Observer {
 public:
  // An input's buffer, before anything reads it.
  void add(uint64_t address, uint32_t leaf, uint64_t bytes);
  // Bytes of the buffer that begins there.
  void copied(uint64_t address, uint64_t offset, uint64_t bytes);
  // The runs of bytes that nothing has read, longest first; some thousands of them if there are more.
  std::vector<InputBytes> unread() const;

  void will_access(ptx::WarpGroup& warp_group, const ptx::Operation& op, const ptx::Region& region,
                   const ptx::LaneAccess& access) override;

 private:
  struct Input {
    uint32_t leaf = 0;
    std::vector<uint8_t> read;  // by byte
  };
  std::unordered_map<uint64_t, Input> inputs_;  // by address
};

}  // namespace bicrl
