#include "sandbox/ptx/memory_operations.h"

#include <cstring>
#include <type_traits>

#include "sandbox/ptx/memory_access.h"

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

template <class Memory, class Register>
void load(Strand& strand, const Operation& op) {
  const int lanes = strand.lanes();
  if (op.detail & kReadsOthers) strand.note_wait();
  const Access access{.bytes = static_cast<uint32_t>(sizeof(Memory)) * op.count, .writes = false};
  for_each_region(strand, op, access, [&](const RegionAccess& group) {
    for (size_t i = 0; i < op.count; ++i) {
      if (!op.destinations[i]) continue;  // _
      auto* to = strand.values<Register>(op.destinations[i]);
      auto* shadow = strand.shadows<Register>(op.destinations[i]);
      const uint64_t place = i * sizeof(Memory);
      if (group.region.local) {
        const auto read = [&](const uint32_t* words) {
          return [=, &group](int lane) {
            return read_local<Memory>(words, lanes, lane, group.offsets[lane] + place);
          };
        };
        read_elements<Memory>(group, lanes, to, read(strand.local_words()));
        if (shadow) read_elements<Memory>(group, lanes, shadow, read(strand.local_shadows()));
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
  });
}

template <class Memory, class Register>
void store(Strand& strand, const Operation& op) {
  const int lanes = strand.lanes();
  const Access access{.bytes = static_cast<uint32_t>(sizeof(Memory)) * op.count, .writes = true};
  for_each_region(strand, op, access, [&](const RegionAccess& group) {
    for (size_t i = 0; i < op.count; ++i) {
      const auto* from = strand.values<Register>(op.sources[i]);
      const auto* shadow = strand.shadows<Register>(op.sources[i]);
      const uint64_t place = i * sizeof(Memory);
      if (group.region.local) {
        const auto write = [&](uint32_t* words, const Register* values) {
          for_lanes(group, lanes, [&](int lane) {
            write_local(words, lanes, lane, group.offsets[lane] + place, static_cast<Memory>(values[lane]));
          });
        };
        write(strand.local_words(), from);
        if (shadow) write(strand.local_shadows(), shadow);
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
