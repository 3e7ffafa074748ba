// Descriptors that are made in pairs or in memory, and what lies behind one.
#pragma once
#include <string>
#include <string_view>

#include "common/files/unique_fd.h"

namespace bicrl {

struct FdPair {
  UniqueFd ours;
  UniqueFd theirs;
};

// All are close-on-exec. They throw Error with the system's reason (out of descriptors).
FdPair make_pipe();         // ours reads without blocking, theirs writes
FdPair make_stream_pair();  // connected Unix stream sockets
FdPair make_packet_pair();  // connected Unix sequenced-packet sockets
UniqueFd make_memfd(const char* name, std::string_view bytes = {});

// All of the file behind a descriptor, wherever its position is; empty if it cannot be read.
std::string read_whole(int fd);
// Likewise, into memory that is kept where it has the size already.
void read_whole(int fd, std::string& into);

}  // namespace bicrl
