#include "sandbox/interpreter/ptx/operations/print_operations.h"

#include <algorithm>
#include <cstring>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/operations/print_format.h"

namespace bicrl::ptx {
namespace {

// What printing takes besides its characters, in operations.
constexpr uint64_t kPrintWork = 256;
constexpr size_t kMaxAssertionText = 256;

// Bytes of one lane's view of memory, within one region.
class LaneMemory {
 public:
  LaneMemory(WarpGroup& warp_group, const Region& region, int lane)
      : warp_group_(warp_group), region_(region), lane_(lane) {}

  uint8_t byte(uint64_t address) const { return at(warp_group_.local_words(), region_.data, address); }
  bool is_undefined(uint64_t address) const {
    return warp_group_.has_shadows() && at(warp_group_.local_shadows(), region_.undefined, address) != 0;
  }

 private:
  uint8_t at(const uint32_t* words, const void* data, uint64_t address) const {
    const uint64_t offset = address - region_.begin;
    if (!region_.local) return data ? static_cast<const uint8_t*>(data)[offset] : uint8_t{0};
    const uint64_t place = region_.local_begin + offset;
    const uint32_t word =
        words[place / 4 * static_cast<size_t>(warp_group_.lanes()) + static_cast<size_t>(lane_)];
    return static_cast<uint8_t>(word >> place % 4 * 8);
  }

  WarpGroup& warp_group_;
  const Region& region_;
  const int lane_;
};

uint64_t read_value(WarpGroup& warp_group, Space space, uint64_t address, uint32_t bytes, int lane) {
  const Region region = find_region(warp_group, space, address, {.bytes = bytes, .writes = false}, lane);
  const LaneMemory memory(warp_group, region, lane);
  uint64_t value = 0;
  for (uint32_t i = 0; i < bytes; ++i) value |= uint64_t{memory.byte(address + i)} << 8 * i;
  return value;
}

// Up to the zero that ends it, or to the longest that a text can be.
std::string read_text(WarpGroup& warp_group, uint64_t address, int lane) {
  std::string text;
  const Region region =
      find_region(warp_group, Space::kGeneric, address, {.bytes = 1, .writes = false}, lane);
  const LaneMemory memory(warp_group, region, lane);
  for (; text.size() < kMaxPrintText; ++address) {
    if (address >= region.end)
      warp_group.fail(FaultClass::kIllegalAccess, "a text to print goes on beyond the end of its memory",
                      lane);
    if (memory.is_undefined(address))
      warp_group.fail(FaultClass::kUninitialised, "a text to print was never written", lane);
    const uint8_t c = memory.byte(address);
    if (c == 0) break;
    text += static_cast<char>(c);
  }
  return text;
}

// An argument of the call that the operation is.
uint64_t argument(WarpGroup& warp_group, const Operation& op, size_t number, uint32_t bytes, int lane) {
  const auto& arguments = warp_group.call_site(op).arguments;
  if (number >= arguments.size() || arguments[number].bytes < bytes)
    warp_group.fail(FaultClass::kUnsupported,
                    "a call of the device runtime with other parameters than it has");
  const uint64_t address = arguments[number].begin;
  const Region region{.begin = address,
                      .end = address + bytes,
                      .data = nullptr,
                      .undefined = nullptr,
                      .writers = nullptr,
                      .writable = false,
                      .space = Space::kLocal,
                      .local = true,
                      .local_begin = arguments[number].begin};
  const LaneMemory memory(warp_group, region, lane);
  uint64_t value = 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    if (memory.is_undefined(address + i))
      warp_group.fail(FaultClass::kUninitialised, "an argument of the device runtime was never written",
                      lane);
    value |= uint64_t{memory.byte(address + i)} << 8 * i;
  }
  return value;
}

void set_result(WarpGroup& warp_group, const Operation& op, int lane, uint32_t value) {
  const auto& results = warp_group.call_site(op).results;
  if (results.empty() || results[0].bytes < 4) return;
  const size_t word =
      results[0].begin / 4 * static_cast<size_t>(warp_group.lanes()) + static_cast<size_t>(lane);
  warp_group.local_words()[word] = value;
  if (warp_group.has_shadows()) warp_group.local_shadows()[word] = 0;
}

void print_lane(WarpGroup& warp_group, const Operation& op, int lane) {
  const uint64_t format = argument(warp_group, op, 0, 8, lane);
  uint64_t next = argument(warp_group, op, 1, 8, lane);
  if (format == 0) return set_result(warp_group, op, lane, ~uint32_t{0});
  PrintValues values;
  values.next = [&](uint32_t bytes) {
    next = (next + bytes - 1) / bytes * bytes;  // each at a multiple of its size
    const uint64_t value = read_value(warp_group, Space::kGeneric, next, bytes, lane);
    next += bytes;
    return value;
  };
  values.text = [&](uint64_t address) {
    const std::string text = read_text(warp_group, address, lane);
    warp_group.grid().count_work(text.size(), 1);
    return text;
  };
  const Printed printed = format_print(read_text(warp_group, format, lane), values);
  warp_group.grid().printer().append(printed.text);
  warp_group.grid().count_work(kPrintWork + printed.text.size(), 1);
  set_result(warp_group, op, lane, printed.values);
}

// What the module's text says of a variable's bytes, without what is no printable character.
std::string initial_text(WarpGroup& warp_group, uint64_t address) {
  const LoadedModule& loaded = warp_group.grid().module();
  const std::vector<Variable>& variables = loaded.module().variables;
  for (uint32_t i = 0; i < variables.size(); ++i) {
    const uint64_t begin = loaded.address_of(i);
    if (begin == 0 || address < begin || address - begin >= variables[i].initial.size()) continue;
    const std::string_view bytes = std::string_view(variables[i].initial).substr(address - begin);
    std::string text(bytes.substr(0, std::min(bytes.find('\0'), kMaxAssertionText)));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return text;
  }
  return "?";
}

}  // namespace

void print(WarpGroup& warp_group, const Operation& op) {
  warp_group.active().for_each([&](int lane) { print_lane(warp_group, op, lane); });
}

void fail_assertion(WarpGroup& warp_group, const Operation& op) {
  const int lane = warp_group.active().first();
  const auto text = [&](size_t number) {
    return initial_text(warp_group, argument(warp_group, op, number, 8, lane));
  };
  const auto line = static_cast<uint32_t>(argument(warp_group, op, 2, 4, lane));
  warp_group.fail(FaultClass::kTrap,
                  concat("assertion `", text(0), "` failed at ", text(1), ":", line, " in ", text(3)), lane);
}

}  // namespace bicrl::ptx
