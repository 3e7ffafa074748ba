#include "sandbox/interpreter/ptx/lowering/special_registers.h"

#include <array>

namespace bicrl::ptx {
namespace {

struct SpecialName {
  std::string_view name;
  Special special;
};

constexpr std::array kSpecials = {
    SpecialName{"%tid.x", Special::kTidX},
    SpecialName{"%tid.y", Special::kTidY},
    SpecialName{"%tid.z", Special::kTidZ},
    SpecialName{"%ntid.x", Special::kNtidX},
    SpecialName{"%ntid.y", Special::kNtidY},
    SpecialName{"%ntid.z", Special::kNtidZ},
    SpecialName{"%ctaid.x", Special::kCtaidX},
    SpecialName{"%ctaid.y", Special::kCtaidY},
    SpecialName{"%ctaid.z", Special::kCtaidZ},
    SpecialName{"%nctaid.x", Special::kNctaidX},
    SpecialName{"%nctaid.y", Special::kNctaidY},
    SpecialName{"%nctaid.z", Special::kNctaidZ},
    SpecialName{"%laneid", Special::kLaneId},
    SpecialName{"%warpid", Special::kWarpId},
    SpecialName{"%nwarpid", Special::kNWarpId},
    SpecialName{"%smid", Special::kSmId},
    SpecialName{"%nsmid", Special::kNSmId},
    SpecialName{"%gridid", Special::kGridId},
    SpecialName{"%lanemask_eq", Special::kLaneMaskEq},
    SpecialName{"%lanemask_le", Special::kLaneMaskLe},
    SpecialName{"%lanemask_lt", Special::kLaneMaskLt},
    SpecialName{"%lanemask_ge", Special::kLaneMaskGe},
    SpecialName{"%lanemask_gt", Special::kLaneMaskGt},
    SpecialName{"%clock", Special::kClock},
    SpecialName{"%clock_hi", Special::kClockHi},
    SpecialName{"%clock64", Special::kClock64},
    SpecialName{"%globaltimer", Special::kGlobalTimer},
    SpecialName{"%envreg1", Special::kEnvReg1},
    SpecialName{"%envreg2", Special::kEnvReg2},
    SpecialName{"%dynamic_smem_size", Special::kDynamicSharedBytes},
    SpecialName{"%total_smem_size", Special::kTotalSharedBytes},
    SpecialName{"%reserved_smem_offset_0", Special::kReservedSharedOffset0},
    SpecialName{"%reserved_smem_offset_1", Special::kReservedSharedOffset1},
    // A launch without clusters has clusters of one block. These come last: to_string() takes the first name.
    SpecialName{"%clusterid.x", Special::kCtaidX},
    SpecialName{"%clusterid.y", Special::kCtaidY},
    SpecialName{"%clusterid.z", Special::kCtaidZ},
    SpecialName{"%nclusterid.x", Special::kNctaidX},
    SpecialName{"%nclusterid.y", Special::kNctaidY},
    SpecialName{"%nclusterid.z", Special::kNctaidZ},
};

struct FixedName {
  std::string_view name;
  int64_t value;
};

constexpr std::array kFixed = {FixedName{"%cluster_ctaid.x", 0},     FixedName{"%cluster_ctaid.y", 0},
                               FixedName{"%cluster_ctaid.z", 0},     FixedName{"%cluster_nctaid.x", 1},
                               FixedName{"%cluster_nctaid.y", 1},    FixedName{"%cluster_nctaid.z", 1},
                               FixedName{"%cluster_ctarank", 0},     FixedName{"%cluster_nctarank", 1},
                               FixedName{"%is_explicit_cluster", 0}, FixedName{"WARP_SZ", 32}};

}  // namespace

std::optional<Operand> parse_special_register(std::string_view name) {
  Operand operand;
  for (const SpecialName& entry : kSpecials)
    if (entry.name == name) {
      operand.kind = Operand::Kind::kSpecial;
      operand.special = entry.special;
      return operand;
    }
  for (const FixedName& entry : kFixed)
    if (entry.name == name) {
      operand.kind = Operand::Kind::kInteger;
      operand.bits = entry.value;
      return operand;
    }
  return std::nullopt;
}

std::string to_string(Special special) {
  for (const SpecialName& entry : kSpecials)
    if (entry.special == special) return std::string(entry.name);
  return "?";
}

}  // namespace bicrl::ptx
