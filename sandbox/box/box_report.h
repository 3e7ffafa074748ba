// Report of a box's first process to the server about the program that ran in it. It is one write on the
// status descriptor, on the same machine and by the same build: a plain struct.
#pragma once
#include <cstdint>

namespace bicrl::box {

constexpr uint32_t kReportMagic = 0x424f5832;

enum class SetupStep : int32_t {
  kNone = 0,
  kArguments,
  kFork,
  kLimits,
  kPrivileges,
  kFolder,
  kFilter,
  kExec
};

struct Report {
  uint32_t magic = kReportMagic;
  SetupStep failed_step = SetupStep::kNone;  // kNone: the program started
  int32_t error = 0;                         // errno of the failed step
  int32_t wait_status = 0;                   // as of waitpid
  int64_t wall_us = 0;
  int64_t cpu_us = 0;  // the whole tree
};

}  // namespace bicrl::box
