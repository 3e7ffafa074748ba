// Settings of the verifier's client that a user may make.
#pragma once
#include <string>
#include <vector>

#include "common/config/config.h"
#include "reward/client/client_access.h"
#include "verdict/verification_request.h"

namespace bicrl {

struct VerifierClientOptions {
  std::vector<std::string> addresses;  // "host:port"
  ClientAccess access;                 // needed for addresses beyond loopback
  int max_in_flight = 32;              // calls at a time, over all servers
  double deadline_s = 180;             // for one request from its first call on, retries included
  double attempt_s = 90;               // for one call
  int max_attempts = 12;    // calls for one request, but for those that found a server without room
  double backoff_s = 0.25;  // before the first retry; doubles with each further one
  double max_backoff_s = 8;
  int memory_verdicts =
      8192;  // verdicts kept, so that an identical candidate is not sent again; 0 keeps none
  VerificationProtocol protocol;  // asked for if a request leaves it open

  // Reads addresses, max_in_flight, deadline_s, ... of a section (whether times are measured is the reward's
  // business).
  // An empty list of addresses is allowed here: the caller starts a verifier and fills it in.
  static VerifierClientOptions from_config(const ConfigSection& section);
};

// Why the addresses cannot be used; empty if they can.
std::string address_problem(const std::vector<std::string>& addresses);

}  // namespace bicrl
