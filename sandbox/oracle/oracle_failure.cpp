#include "sandbox/oracle/oracle_failure.h"

#include "common/error.h"
#include "common/files/last_lines.h"

namespace bicrl {

OracleFailure failure_of(const ChildResult& result) {
  switch (result.end) {
    case ChildEnd::kTimeout:
      return {true, "the reference takes longer than the oracle's limit", "timeout"};
    case ChildEnd::kMemory:
      return {true, "the reference needs more memory than the oracle's limit", "too_large"};
    case ChildEnd::kSignalled:
      return {true, concat("the reference crashed (signal ", result.code, ")"), "crash"};
    case ChildEnd::kExited:
      return {
          true,
          concat("the reference ended its process (status ", result.code, "): ", last_lines(result.output)),
          "crash"};
    case ChildEnd::kOutputLimit:
      return {true, "the reference prints too much", "crash"};
    case ChildEnd::kBadFrame:
      return {true, "the reference's box sent a malformed answer: " + result.reason, "crash"};
    case ChildEnd::kCancelled:
      return {false, "cancelled", ""};
    case ChildEnd::kBoxFailed:
      break;
  }
  return {false, "the oracle's box failed: " + result.reason, ""};
}

}  // namespace bicrl
