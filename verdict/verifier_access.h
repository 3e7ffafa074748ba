// Access control of a verifier, as far as both ends need it. A verifier runs programs that others send, so
// beyond its own machine it answers only callers who know its token, and only over TLS. TLS keeps the token
// secret and shows that it is the right machine. The rest is in sandbox/service/server_access.h and
// reward/client/client_access.h.
#pragma once
#include <string>

namespace bicrl {

// Of "host:port": whether nobody but this machine reaches it (127.0.0.1, localhost, [::1]).
bool is_loopback(const std::string& address);

// A token from its file, without white space around it. Throws InputError, naming the file, if it cannot be
// read, others than its owner may read it, or it is shorter than 32 characters or not printable.
std::string read_token(const std::string& path);

// Takes as long for a wrong token as for the right one.
bool same_token(const std::string& one, const std::string& other);

}  // namespace bicrl
