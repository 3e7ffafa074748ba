// The client of the verifier service: candidates go in, verdicts come out in the order in which they are
// ready. And how this folder works.
//
// Nothing is lost and nothing comes twice: every submitted request yields exactly one verdict from next().
// What goes wrong between here and a verdict (no server, a server that dies or stalls, a garbled reply) is
// retried, on another server if there is one, and ends as a verdict with an infrastructure outcome, never
// as an exception. Only what the caller withdraws yields none.
//
// The client's engine (verifier_client.cpp) owns the connections (verifier_channel.h), one thread, which
// takes in what gRPC reports, and the candidates on their way (verification_call.h). server_pool.h chooses
// the server for a call, call_failure.h knows what a failed one means, verifier_options.h holds what a user
// may set. All state is guarded by one mutex: submit(), next() and the rest may be called from any thread.
// Destroying the client cancels what is under way.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "reward/client/verifier_options.h"
#include "verdict/verdict.h"
#include "verdict/verification_request.h"
#include "verdict/verifier_description.h"

namespace bicrl {

struct VerifierClientCounters {
  int64_t submitted = 0;
  int64_t unique = 0;          // sent to a server at least once
  int64_t joined = 0;          // identical to one under way, shares its verdict
  int64_t remembered = 0;      // identical to one seen before, answered from memory
  int64_t returned = 0;        // handed out by next()
  int64_t retried = 0;         // calls beyond the first of a request
  int64_t infrastructure = 0;  // verdicts with an infrastructure outcome
  int64_t withdrawn = 0;       // no verdict was waited for any longer
  double waited_s = 0;         // time that callers spent in next() without a verdict being ready
};

class VerifierClient {
 public:
  // Throws InputError if an address or a file of the access is unusable. Does not wait for the servers.
  explicit VerifierClient(VerifierClientOptions options);
  ~VerifierClient();
  VerifierClient(const VerifierClient&) = delete;
  VerifierClient& operator=(const VerifierClient&) = delete;

  // Never blocks on a server. Throws Error if a request with the same id is pending.
  void submit(const VerificationRequest& request);

  // The next verdict, waiting for it if need be; nullopt after `timeout`. Verdict::cached is also set if
  // the client itself knew the verdict.
  std::optional<Verdict> next(std::chrono::milliseconds timeout);

  // Gives up every request whose verdict is not ready, and returns their ids: their calls are cancelled (a
  // server stops its work on them), and next() returns what is ready and nothing of them, even if the same
  // ids are submitted again.
  std::vector<std::string> withdraw();

  // Submitted, not withdrawn, and not yet returned by next().
  size_t pending() const;

  // Who is being waited for, in one line for a person.
  std::string waiting_for() const;

  // Asks every server, in the order of the addresses, waiting up to `timeout` until it can be reached. A
  // failure's reason names the address.
  std::vector<Result<VerifierDescription>> describe(std::chrono::milliseconds timeout);

  VerifierClientCounters counters() const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace bicrl
