#include "tests/sandbox/service_support.h"

#include <catch2/catch_test_macros.hpp>

#include "common/error.h"

namespace bicrl::testing {

BoxHost& box_host() {
  static const auto made = []() -> std::pair<std::unique_ptr<BoxHost>, std::string> {
    try {
      return {std::make_unique<BoxHost>(), ""};
    } catch (const Error& error) {
      return {nullptr, error.what()};
    }
  }();
  if (!made.first) SKIP(made.second);
  return *made.first;
}

}  // namespace bicrl::testing
