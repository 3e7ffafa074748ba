// Prometheus metrics of a verifier: text over HTTP, at /metrics. No caller is authenticated, as only this
// machine reaches it. Thread-safe.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/service/verification_queue.h"
#include "sandbox/verifier/backend.h"
#include "verdict/verdict.h"

namespace bicrl {

// What a collector reads of the verifier as it is at that moment.
struct VerifierState {
  QueueStatistics queue;
  std::vector<BackendDevice> devices;
  int workers = 0;
};

// Why metrics cannot be served at `address`; empty if they can.
std::string metrics_problem(const std::string& address);

class VerifierMetrics {
 public:
  // `look` is called by threads of the server until the destructor has ended. `backend`: the verifier's name.
  VerifierMetrics(const std::string& backend, std::function<VerifierState()> look);
  ~VerifierMetrics();
  // A verification that has ended. `waited_s`: for its turn.
  void count(const Verdict& verdict, double waited_s);
  // Starts to answer at HOST:PORT, a loopback address; the port, which 0 leaves open. Throws InputError if it
  // cannot. Call once.
  int serve(const std::string& address);
  // What a collector would get.
  std::string text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace bicrl
