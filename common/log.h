// Logging behind a plain header: no room includes the logging library (torch ships another version of fmt).
// Thread-safe. Lines go to stderr, with time, level and rank (if there are several).
#pragma once
#include <string>

#include "common/error.h"

namespace bicrl {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Call once from main. `rank` < 0 leaves the rank out of the lines.
void init_logging(LogLevel lowest, int rank = -1);
void write_log(LogLevel level, const std::string& message);

template <class... Args>
void log_debug(const Args&... args) {
  write_log(LogLevel::kDebug, concat(args...));
}
template <class... Args>
void log_info(const Args&... args) {
  write_log(LogLevel::kInfo, concat(args...));
}
template <class... Args>
void log_warning(const Args&... args) {
  write_log(LogLevel::kWarning, concat(args...));
}
template <class... Args>
void log_error(const Args&... args) {
  write_log(LogLevel::kError, concat(args...));
}

}  // namespace bicrl
