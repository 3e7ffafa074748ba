// Ports that a server is to listen on. A free function; thread-safe.
#pragma once
#include <string>

namespace bicrl {

// Throws InputError that names `key` if nothing can listen on "host:port" now: the port is in use, or is not
// this machine's. Called before a server starts what takes long; the port may still be taken meanwhile.
void require_free_port(const std::string& key, const std::string& address);

}  // namespace bicrl
