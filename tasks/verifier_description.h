// What a verifier says of itself. Plain values.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bicrl {

struct VerifierDescription {
  std::string address;  // where it was asked; not part of the answer
  std::string backend;
  std::string protocol_version;
  int workers = 0;
  std::vector<std::string> sandbox_features;
  std::vector<std::string> missing_features;  // with the reason
  int64_t verified = 0;
  int64_t cache_hits = 0;
  bool operator==(const VerifierDescription&) const = default;
};

}  // namespace bicrl
