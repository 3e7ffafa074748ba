#include "sandbox/interpreter/ptx/operations/memory_operations.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/observed_access.h"
#include "sandbox/interpreter/ptx/execution/warp_group_masks.h"

namespace bicrl::ptx {
namespace {

using Bits128 = unsigned __int128;

template <class Work>
void for_lanes(const RegionAccess& group, int lanes, const Work& work) {
  if (group.all) {
    for (int lane = 0; lane < lanes; ++lane) work(lane);
  } else {
    group.lanes.for_each(work);
  }
}

// Element of `sizeof(Memory)` bytes at an offset of a lane's own memory, whose words are interleaved.
template <class Memory>
Memory read_local(const uint32_t* words, int lanes, int lane, uint64_t offset) {
  const size_t stride = static_cast<size_t>(lanes);
  const uint32_t* word = words + offset / 4 * stride + static_cast<size_t>(lane);
  Memory value;
  if constexpr (sizeof(Memory) <= 4) {
    memcpy(&value, reinterpret_cast<const std::byte*>(word) + offset % 4, sizeof value);
  } else {
    uint32_t parts[sizeof(Memory) / 4];
    for (size_t i = 0; i < sizeof(Memory) / 4; ++i) parts[i] = word[i * stride];
    memcpy(&value, parts, sizeof value);
  }
  return value;
}

template <class Memory>
void write_local(uint32_t* words, int lanes, int lane, uint64_t offset, Memory value) {
  const size_t stride = static_cast<size_t>(lanes);
  uint32_t* word = words + offset / 4 * stride + static_cast<size_t>(lane);
  if constexpr (sizeof(Memory) <= 4) {
    memcpy(reinterpret_cast<std::byte*>(word) + offset % 4, &value, sizeof value);
  } else {
    uint32_t parts[sizeof(Memory) / 4];
    memcpy(parts, &value, sizeof value);
    for (size_t i = 0; i < sizeof(Memory) / 4; ++i) word[i * stride] = parts[i];
  }
}

// The element of each lane of the group, widened to the register: by its sign, if Memory has one.
template <class Memory, class Register, class Read>
void read_elements(const RegionAccess& group, int lanes, Register* to, const Read& read) {
  for_lanes(group, lanes, [&](int lane) { to[lane] = static_cast<Register>(read(lane)); });
}

// ---- One region, and neighbours that are equal or in a row: almost all accesses ----

template <class Memory, class Register>
void gather(const void* begin, const AddressPlan& plan, int lanes, size_t element, Register* to) {
  const auto* bytes = static_cast<const std::byte*>(begin) + element * sizeof(Memory);
  if constexpr (sizeof(Memory) == sizeof(Register) && sizeof(Memory) <= 8) {
    gather_elements(bytes, plan, lanes, reinterpret_cast<std::make_unsigned_t<Register>*>(to));
  } else {
    for (int lane = 0; lane < lanes; ++lane) {
      Memory value;
      memcpy(&value, bytes + plan.offsets[lane], sizeof value);
      to[lane] = static_cast<Register>(value);
    }
  }
}

// Whether it could be done that way.
template <class Memory, class Register>
bool load_together(WarpGroup& warp_group, const Operation& op, const Access& access) {
  const AddressPlan& plan = address_plan(warp_group, op);
  Region region;
  if (!find_common_region(warp_group, op, access, plan, region) || region.local) return false;
  const uint64_t from = plan.least + static_cast<uint64_t>(op.offset) - region.begin;
  const int lanes = warp_group.lanes();
  ObservedAccess observed(warp_group, op, region);
  if (observed) {
    observed.set_plan(plan);
    observed.begin(LaneAccess::Kind::kRead, access.bytes);
  }
  const auto fill = [&](std::byte* array, const void* begin, size_t element) {
    if (warp_group.dense())
      return gather<Memory>(begin, plan, lanes, element, reinterpret_cast<Register*>(array));
    gather<Memory>(begin, plan, lanes, element, reinterpret_cast<Register*>(warp_group.scratch(0)));
    blend(array, warp_group.scratch(0), warp_group.active_words(), sizeof(Register), lanes);
  };
  for (size_t i = 0; i < op.count; ++i) {
    if (!op.destinations[i]) continue;  // _
    fill(warp_group.values<std::byte>(op.destinations[i]), region.data + from, i);
    if (warp_group.has_shadows())
      fill(warp_group.shadows<std::byte>(op.destinations[i]), region.undefined + from, i);
  }
  observed.finish();
  return true;
}

template <class Memory, class Register>
bool store_together(WarpGroup& warp_group, const Operation& op, const Access& access) {
  const AddressPlan& plan = address_plan(warp_group, op);
  Region region;
  if (!find_common_region(warp_group, op, access, plan, region) || region.local) return false;
  const uint64_t from = plan.least + static_cast<uint64_t>(op.offset) - region.begin;
  ObservedAccess observed(warp_group, op, region);
  if (observed) {
    observed.set_plan(plan);
    observed.set_values<Register>(sizeof(Memory));
    observed.begin(LaneAccess::Kind::kWrite, access.bytes);
  }
  constexpr int kGroup = AddressPlan::kGroup;
  const auto for_groups = [&](const auto& row, const auto& one) {
    for (int group = 0; group * kGroup < warp_group.lanes(); ++group) {
      const int first = group * kGroup;
      const uint32_t wanted =
          warp_group.active().warps[static_cast<size_t>(first / kWarpLanes)] >> first % kWarpLanes & 0xFF;
      if (wanted == 0xFF && plan.steps[group] == static_cast<int32_t>(access.bytes) && op.count == 1)
        row(first, plan.offsets[first]);
      else
        for (uint32_t left = wanted; left != 0; left &= left - 1)
          one(first + std::countr_zero(left), plan.offsets[first + std::countr_zero(left)]);
    }
  };
  const auto scatter = [&](void* begin, const Register* values, size_t element) {
    std::byte* bytes = static_cast<std::byte*>(begin) + element * sizeof(Memory);
    for_groups(
        [&](int lane, uint32_t offset) {
          Memory row[kGroup];
          for (int i = 0; i < kGroup; ++i) row[i] = static_cast<Memory>(values[lane + i]);
          memcpy(bytes + offset, row, sizeof row);
        },
        [&](int lane, uint32_t offset) {
          const auto value = static_cast<Memory>(values[lane]);
          memcpy(bytes + offset, &value, sizeof value);
        });
  };
  for (size_t i = 0; i < op.count; ++i) {
    scatter(region.data + from, warp_group.values<Register>(op.sources[i]), i);
    if (warp_group.has_shadows())
      scatter(region.undefined + from, warp_group.shadows<Register>(op.sources[i]), i);
  }
  if (region.writers) {
    const auto mark = [&](uint32_t offset, size_t bytes) {
      memset(region.writers + from + offset, static_cast<int>(Writer::kKernel), bytes);
    };
    for_groups([&](int, uint32_t offset) { mark(offset, size_t{access.bytes} * kGroup); },
               [&](int, uint32_t offset) { mark(offset, access.bytes); });
  }
  observed.finish();
  return true;
}

// ---- One address for all lanes: parameters, and variables in local memory ----

// Whether it could be done that way.
template <class Memory, class Register>
bool load_fixed(WarpGroup& warp_group, const Operation& op, const Access& access) {
  Region region;
  if (!find_fixed_region(warp_group, op, access, region)) return false;
  const uint64_t from = static_cast<uint64_t>(op.offset) - region.begin;
  const int lanes = warp_group.lanes();
  const uint32_t* wanted = warp_group.active_words();
  ObservedAccess observed(warp_group, op, region);
  if (observed) {
    observed.set_fixed(from);
    observed.begin(LaneAccess::Kind::kRead, access.bytes);
  }
  const auto fill = [&](std::byte* array, const void* data, const uint32_t* words, size_t element) {
    auto* to = reinterpret_cast<Register*>(array);
    const uint64_t place = from + element * sizeof(Memory);
    if (region.local) {
      for (int lane = 0; lane < lanes; ++lane)
        if (wanted[lane])
          to[lane] =
              static_cast<Register>(read_local<Memory>(words, lanes, lane, region.local_begin + place));
      return;
    }
    Memory value;
    memcpy(&value, static_cast<const std::byte*>(data) + place, sizeof value);
    const auto wide = static_cast<Register>(value);
    if (warp_group.dense()) {
      for (int lane = 0; lane < lanes; ++lane) to[lane] = wide;
    } else {
      for (int lane = 0; lane < lanes; ++lane)
        if (wanted[lane]) to[lane] = wide;
    }
  };
  for (size_t i = 0; i < op.count; ++i) {
    if (!op.destinations[i]) continue;  // _
    fill(warp_group.values<std::byte>(op.destinations[i]), region.data, warp_group.local_words(), i);
    if (warp_group.has_shadows())
      fill(warp_group.shadows<std::byte>(op.destinations[i]), region.undefined, warp_group.local_shadows(),
           i);
  }
  observed.finish();
  return true;
}

template <class Memory, class Register>
bool store_fixed(WarpGroup& warp_group, const Operation& op, const Access& access) {
  Region region;
  if (!find_fixed_region(warp_group, op, access, region) || !region.local) return false;
  const uint64_t place = region.local_begin + static_cast<uint64_t>(op.offset) - region.begin;
  const int lanes = warp_group.lanes();
  const uint32_t* wanted = warp_group.active_words();
  ObservedAccess observed(warp_group, op, region);
  if (observed) {
    observed.set_fixed(place - region.local_begin);
    observed.set_values<Register>(sizeof(Memory));
    observed.begin(LaneAccess::Kind::kWrite, access.bytes);
  }
  const auto write = [&](uint32_t* words, const Register* values, size_t element) {
    for (int lane = 0; lane < lanes; ++lane)
      if (wanted[lane])
        write_local(words, lanes, lane, place + element * sizeof(Memory), static_cast<Memory>(values[lane]));
  };
  for (size_t i = 0; i < op.count; ++i) {
    write(warp_group.local_words(), warp_group.values<Register>(op.sources[i]), i);
    if (warp_group.has_shadows())
      write(warp_group.local_shadows(), warp_group.shadows<Register>(op.sources[i]), i);
  }
  observed.finish();
  return true;
}

// ---- Any access ----

template <class Memory, class Register>
void load(WarpGroup& warp_group, const Operation& op) {
  const int lanes = warp_group.lanes();
  if (op.detail & kReadsOthers) warp_group.note_wait();
  const Access access{.bytes = static_cast<uint32_t>(sizeof(Memory)) * op.count, .writes = false};
  if (op.address ? load_together<Memory, Register>(warp_group, op, access)
                 : load_fixed<Memory, Register>(warp_group, op, access))
    return;
  for_each_region(warp_group, op, access, [&](const RegionAccess& group) {
    ObservedAccess observed(warp_group, op, group.region);
    if (observed) {
      observed.set_offsets(group.lanes, group.offsets);
      observed.begin(LaneAccess::Kind::kRead, access.bytes);
    }
    for (size_t i = 0; i < op.count; ++i) {
      if (!op.destinations[i]) continue;  // _
      auto* to = warp_group.values<Register>(op.destinations[i]);
      auto* shadow = warp_group.shadows<Register>(op.destinations[i]);
      const uint64_t place = i * sizeof(Memory);
      if (group.region.local) {
        const auto read = [&](const uint32_t* words) {
          return [=, &group](int lane) {
            return read_local<Memory>(words, lanes, lane,
                                      group.region.local_begin + group.offsets[lane] + place);
          };
        };
        read_elements<Memory>(group, lanes, to, read(warp_group.local_words()));
        if (shadow) read_elements<Memory>(group, lanes, shadow, read(warp_group.local_shadows()));
      } else {
        const auto read = [&](const void* begin) {
          return [bytes = static_cast<const std::byte*>(begin) + place, offsets = group.offsets](int lane) {
            Memory value;
            memcpy(&value, bytes + offsets[lane], sizeof value);
            return value;
          };
        };
        read_elements<Memory>(group, lanes, to, read(group.region.data));
        if (shadow) read_elements<Memory>(group, lanes, shadow, read(group.region.undefined));
      }
    }
    observed.finish();
  });
}

template <class Memory, class Register>
void store(WarpGroup& warp_group, const Operation& op) {
  const int lanes = warp_group.lanes();
  const Access access{.bytes = static_cast<uint32_t>(sizeof(Memory)) * op.count, .writes = true};
  if (op.address ? store_together<Memory, Register>(warp_group, op, access)
                 : store_fixed<Memory, Register>(warp_group, op, access))
    return;
  for_each_region(warp_group, op, access, [&](const RegionAccess& group) {
    ObservedAccess observed(warp_group, op, group.region);
    if (observed) {
      observed.set_offsets(group.lanes, group.offsets);
      observed.set_values<Register>(sizeof(Memory));
      observed.begin(LaneAccess::Kind::kWrite, access.bytes);
    }
    for (size_t i = 0; i < op.count; ++i) {
      const auto* from = warp_group.values<Register>(op.sources[i]);
      const auto* shadow = warp_group.shadows<Register>(op.sources[i]);
      const uint64_t place = i * sizeof(Memory);
      if (group.region.local) {
        const auto write = [&](uint32_t* words, const Register* values) {
          for_lanes(group, lanes, [&](int lane) {
            write_local(words, lanes, lane, group.region.local_begin + group.offsets[lane] + place,
                        static_cast<Memory>(values[lane]));
          });
        };
        write(warp_group.local_words(), from);
        if (shadow) write(warp_group.local_shadows(), shadow);
      } else {
        const auto write = [&](void* begin, const Register* values) {
          std::byte* bytes = static_cast<std::byte*>(begin) + place;
          for_lanes(group, lanes, [&](int lane) {
            const auto value = static_cast<Memory>(values[lane]);
            memcpy(bytes + group.offsets[lane], &value, sizeof value);
          });
        };
        write(group.region.data, from);
        if (shadow) write(group.region.undefined, shadow);
        if (group.region.writers)
          for_lanes(group, lanes, [&](int lane) {
            memset(group.region.writers + group.offsets[lane] + place, static_cast<int>(Writer::kKernel),
                   sizeof(Memory));
          });
      }
    }
    observed.finish();
  });
}

template <class Memory, class Register>
Handler of(bool loads) {
  return loads ? load<Memory, Register> : store<Memory, Register>;
}

// Registers have the sign of the element, which decides how it is widened.
template <class Memory>
Handler by_register(uint32_t register_bytes, bool loads) {
  constexpr bool kSigned = std::is_signed_v<Memory>;
  if (sizeof(Memory) > register_bytes) return nullptr;
  switch (register_bytes) {
    case 2:
      return of<Memory, std::conditional_t<kSigned, int16_t, uint16_t>>(loads);
    case 4:
      return of<Memory, std::conditional_t<kSigned, int32_t, uint32_t>>(loads);
    case 8:
      return of<Memory, std::conditional_t<kSigned, int64_t, uint64_t>>(loads);
    default:
      return nullptr;
  }
}

Handler handler(Type type, uint32_t register_bytes, bool loads) {
  switch (type) {
    case Type::kS8:
      return by_register<int8_t>(register_bytes, loads);
    case Type::kS16:
      return by_register<int16_t>(register_bytes, loads);
    case Type::kS32:
      return by_register<int32_t>(register_bytes, loads);
    case Type::kPred:
    case Type::kNone:
      return nullptr;
    default:
      break;
  }
  switch (bytes_of(type)) {
    case 1:
      return by_register<uint8_t>(register_bytes, loads);
    case 2:
      return by_register<uint16_t>(register_bytes, loads);
    case 4:
      return by_register<uint32_t>(register_bytes, loads);
    case 8:
      return by_register<uint64_t>(register_bytes, loads);
    case 16:
      return register_bytes == 16 ? of<Bits128, Bits128>(loads) : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

Handler load_handler(Type type, uint32_t register_bytes) { return handler(type, register_bytes, true); }
Handler store_handler(Type type, uint32_t register_bytes) { return handler(type, register_bytes, false); }

}  // namespace bicrl::ptx
