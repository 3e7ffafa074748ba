// The verifier as a server process, and how this folder works.
//
// run_verifier_server() makes a Pipeline (sandbox/verifier/pipeline.h: one verification from program to
// verdict), has it grade two programs of its own (canary.h), puts a VerificationQueue before it (a fixed
// number of workers, a cache of verdicts, identical candidates verified once) and serves the queue by gRPC.
// It owns all of them and ends them in the opposite order. Messages become plain structs at the border
// (verdict/verifier_wire.h), so neither generated code nor a gRPC header is needed to include this one.
#pragma once
#include <string>

#include "common/config/config.h"
#include "sandbox/service/server_access.h"
#include "sandbox/service/verification_queue.h"
#include "sandbox/verifier/pipeline.h"
#include "verdict/verification_request.h"

namespace bicrl {

struct VerifierOptions {
  std::string listen = "127.0.0.1:0";                // port 0: any free port
  ServerAccess access;                               // needed beyond loopback
  std::string metrics_listen;                        // where Prometheus may ask; empty: nowhere
  double drain_s = 20;                               // for what runs when the server is asked to end
  bool die_with_parent = false;                      // for a server that a training run starts for itself
  VerificationProtocol protocol = kDefaultProtocol;  // what a request leaves open
  PipelineOptions pipeline;
  QueueOptions queue;

  // Reads the section `verifier` of a configuration; every key has a default.
  static VerifierOptions from_config(const ConfigSection& section);
};

// Serves until SIGTERM or SIGINT; returns the process's exit code. Then it takes nothing more (its health is
// NOT_SERVING, requests are UNAVAILABLE), lets what runs come to its end, for drain_s at most, and ends; a
// second signal ends it at once. Call from main, before other threads exist: it blocks these signals. Prints
// "listening on HOST:PORT" on stdout when it takes requests, which is after the canaries passed: a verifier
// that listens works. Throws Error(kUnavailable) if the machine lacks something, InputError if it cannot or
// must not listen at the address.
int run_verifier_server(const VerifierOptions& options);

}  // namespace bicrl
