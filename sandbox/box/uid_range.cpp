#include "sandbox/box/uid_range.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "common/error.h"

namespace bicrl {
namespace {

// Below 65536, which containers with mapped uids still have, in the gap that distributions leave free.
constexpr uid_t kFirstUid = 60100;
constexpr int kRanges = 48;

}  // namespace

UidRange UidRange::claim() {
  UidRange range;
  for (int i = 0; i < kRanges; ++i) {
    range.claim_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!range.claim_) break;
    // A name that begins with a zero byte lies in no folder.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = concat('\0', "bicrl-uids-", i);
    std::copy(name.begin(), name.end(), address.sun_path);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    if (bind(range.claim_.get(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0) {
      range.first_ = kFirstUid + static_cast<uid_t>(i * kUids);
      return range;
    }
    if (errno != EADDRINUSE) break;
  }
  throw Error(concat("no uids are left for boxes: ", strerror(errno), " (", kRanges, " ranges of ", kUids,
                     "). Stop other verifiers on this host"),
              ExitCode::kUnavailable);
}

}  // namespace bicrl
