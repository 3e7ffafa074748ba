#include "sandbox/verifier/secret.h"

#include <sys/random.h>

#include "common/error.h"

namespace bicrl {

uint64_t secret_number() {
  uint64_t number = 0;
  BICRL_CHECK(getrandom(&number, sizeof number, 0) == sizeof number, "getrandom");
  return number;
}

std::string secret_text() {
  std::string text;
  for (const uint64_t word : {secret_number(), secret_number()})
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  return text;
}

}  // namespace bicrl
