#include "common/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "common/progress_bar.h"

namespace bicrl {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = spdlog::stderr_color_mt("bicrl");
    made->set_pattern("%H:%M:%S %^%L%$ %v");
    return made;
  }();
  return *instance;
}

}  // namespace

void init_logging(LogLevel lowest, int rank) {
  logger().set_level(to_spdlog(lowest));
  logger().set_pattern(rank < 0 ? "%H:%M:%S %^%L%$ %v" : concat("%H:%M:%S %^%L%$ [rank ", rank, "] %v"));
}

void write_log(LogLevel level, const std::string& message) {
  if (!logger().should_log(to_spdlog(level))) return;
  hide_progress_bar();
  logger().log(to_spdlog(level), spdlog::string_view_t(message));
}

}  // namespace bicrl
