#include "common/error.h"

#include <cstring>

namespace bicrl {

void throw_check_failure(const char* file, int line, const char* condition, const std::string& message) {
  // The path is shortened to room/file: builds elsewhere must print the same text.
  const char* slash = nullptr;
  for (const char *p = file, *previous = nullptr; *p; ++p) {
    if (*p == '/') {
      slash = previous;
      previous = p;
    }
  }
  const char* where = slash ? slash + 1 : file;
  throw Error(concat(where, ":", line, ": check failed: ", condition, message.empty() ? "" : ": ", message));
}

}  // namespace bicrl
