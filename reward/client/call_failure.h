// Classification of failed calls to a verifier: whether to retry, after how long, and how to report it. Pure
// functions.
#pragma once
#include <string>

namespace bicrl {

// gRPC status codes that say that asking again, here or elsewhere, cannot help.
bool is_permanent(int status_code);

// "unavailable (message)".
std::string explain_status(int status_code, const std::string& message);

// Pause before the next call after `attempts` failed ones: doubles each time up to the maximum, and is spread
// by a quarter either way (by `key`), so that calls that failed together do not come back together.
double backoff_s(int attempts, double first_s, double max_s, const std::string& key);

}  // namespace bicrl
