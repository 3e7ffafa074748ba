// Probe of whether a verifier speaks TLS where its caller does. gRPC only reports "Socket closed" when they
// differ, and retries as if the server were down. Free functions; thread-safe.
#pragma once
#include <string>

namespace bicrl {

enum class Transport { kUnknown, kPlain, kTls };

// What answers at "host:port": connects, opens an HTTP/2 connection without TLS and looks at the first bytes
// that come back. A server of gRPC without TLS answers with its settings, one with TLS with an alert, or by
// closing. kUnknown if nobody listens there, or nothing comes within a second.
Transport probe_transport(const std::string& address);

// Why calls cannot succeed, for a person: `with_tls` is what the caller speaks. Empty if that is what the
// server speaks, or the server cannot be reached.
std::string transport_problem(const std::string& address, bool with_tls);

// Whether a failed call's message says that the server's certificate was refused, which no retry changes.
bool is_certificate_refusal(const std::string& message);

// The same of any failed handshake, which a server that is ending cuts short as well.
bool is_tls_refusal(const std::string& message);

}  // namespace bicrl
