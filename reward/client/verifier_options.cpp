#include "reward/client/verifier_options.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl {

std::string address_problem(const std::vector<std::string>& addresses) {
  for (size_t i = 0; i < addresses.size(); ++i) {
    const std::string& address = addresses[i];
    const size_t colon = address.rfind(':');
    const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
    const bool digits =
        !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
    if (colon == 0 || !digits || std::stoi(port) < 1 || std::stoi(port) > 65535)
      return concat("'", address, "' is no verifier address of the form host:port");
    if (std::find(addresses.begin(), addresses.begin() + i, address) != addresses.begin() + i)
      return concat("the verifier address ", address, " appears twice");
  }
  return "";
}

VerifierClientOptions VerifierClientOptions::from_config(const ConfigSection& section) {
  constexpr double kDay_s = 86400;
  VerifierClientOptions o;
  o.addresses = section.texts("addresses");
  if (const std::string problem = address_problem(o.addresses); !problem.empty())
    section.reject("addresses", problem);
  o.access = ClientAccess::from_config(section.section("access"));
  if (const std::string problem = access_problem(o.access, o.addresses); !problem.empty())
    section.reject("addresses", problem);
  o.max_in_flight = static_cast<int>(section.integer("max_in_flight", o.max_in_flight, 1, 4096));
  o.deadline_s = section.real("deadline_s", o.deadline_s, 0.001, kDay_s);
  o.attempt_s = section.real("attempt_s", std::min(o.attempt_s, o.deadline_s), 0.001, kDay_s);
  if (o.attempt_s > o.deadline_s) section.reject("attempt_s", "must not be more than 'deadline_s'");
  o.max_attempts = static_cast<int>(section.integer("max_attempts", o.max_attempts, 1, 1000));
  o.backoff_s = section.real("backoff_s", o.backoff_s, 0.001, kDay_s);
  o.max_backoff_s = section.real("max_backoff_s", std::max(o.max_backoff_s, o.backoff_s), 0.001, kDay_s);
  if (o.max_backoff_s < o.backoff_s) section.reject("max_backoff_s", "must not be less than 'backoff_s'");
  o.memory_verdicts = static_cast<int>(section.integer("memory_verdicts", o.memory_verdicts, 0, 10'000'000));
  o.protocol.tolerance =
      *parse_tolerance(section.choice("tolerance", "open", {"open", "profile", "tf32", "published"}));
  o.protocol.trials = static_cast<int>(section.integer("trials", o.protocol.trials, 0, kMaxTrials));
  o.protocol.size = *parse_size_policy(section.choice("size", "open", {"open", "fitting", "own", "reduced"}));
  o.protocol.specialised =
      *parse_config_name(section.choice("specialised", "open", {"open", "incorrect", "mask"}));
  return o;
}

}  // namespace bicrl
