// What the verifier is asked. Plain values.
#pragma once
#include <cstdint>
#include <string>

namespace bicrl {

struct VerifyProtocol {
  double atol = 1e-2;
  double rtol = 1e-2;
  int trials = 3;             // draws of secret inputs
  bool measure_time = false;  // else correctness only
};

struct VerifyRequest {
  std::string request_id;  // chosen by the client, returned with the verdict
  std::string task_id;
  std::string pytorch_code;
  std::string program;
  VerifyProtocol protocol;
  bool bypass_cache = false;
};

}  // namespace bicrl
