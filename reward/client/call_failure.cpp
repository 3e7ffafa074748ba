#include "reward/client/call_failure.h"

#include <grpcpp/support/status.h>

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "common/rng.h"

namespace bicrl {
namespace {

const char* code_name(int status_code) {
  switch (status_code) {
    case grpc::StatusCode::CANCELLED:
      return "cancelled";
    case grpc::StatusCode::INVALID_ARGUMENT:
      return "invalid argument";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "no answer in time";
    case grpc::StatusCode::PERMISSION_DENIED:
      return "permission denied";
    case grpc::StatusCode::UNAUTHENTICATED:
      return "not authenticated";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return "busy";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "not a verifier";
    case grpc::StatusCode::UNAVAILABLE:
      return "unavailable";
    default:
      return "failed";
  }
}

}  // namespace

bool is_permanent(int status_code) {
  switch (status_code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::UNIMPLEMENTED:
      return true;
    default:
      return false;
  }
}

std::string explain_status(int status_code, const std::string& message) {
  return concat(code_name(status_code), " (", message, ")");
}

double backoff_s(int attempts, double first_s, double max_s, const std::string& key) {
  const double doubled_s = first_s * std::exp2(std::clamp(attempts - 1, 0, 30));
  const double spread = 0.75 + 0.5 * uniform_at(mix_key(0, key), static_cast<uint64_t>(attempts));
  return std::min(doubled_s, max_s) * spread;
}

}  // namespace bicrl
