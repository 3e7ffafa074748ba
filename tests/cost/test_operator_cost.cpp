// What a reference's operators cost, as the oracle's box lists them.
#include "sandbox/cost/operator_cost.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace bicrl {
namespace {

using nlohmann::json;

json entry(const std::string& kind, int64_t elements, int64_t count) {
  return {{"name", "operator"},      {"kind", kind},
          {"precision", "float32"},  {"reads", {{4 * elements, -1}, {4 * elements, 1 << 21}}},
          {"written", 4 * elements}, {"elements", elements},
          {"flops", elements},       {"outputs", elements},
          {"count", count}};
}

TEST_CASE("launches that are listed once with their number take as long as each of them listed") {
  const json few{entry("stream", 4096, 3), entry("matrix", 1 << 20, 2)};
  const json each{entry("stream", 4096, 1), entry("stream", 4096, 1), entry("stream", 4096, 1),
                  entry("matrix", 1 << 20, 1), entry("matrix", 1 << 20, 1)};
  const ReferenceLaunches read =
      read_reference_launches({{"eager", few}, {"fused", each}, {"least_bytes", 1}});
  REQUIRE(read.eager.size() == 2);
  REQUIRE(read.fused.size() == 5);
  const DeviceTable& device = *find_device_table("h100");
  for (const uint64_t repeats : {1, 7}) {
    const double ms = modelled_ms(read.fused, device, repeats);
    CHECK(ms > 5 * device.launch_us / 1000);
    CHECK(modelled_ms(read.eager, device, repeats) == Catch::Approx(ms));
  }
}

TEST_CASE("a number of launches that is none is refused") {
  const json bad{entry("stream", 4096, -1)};
  CHECK_THROWS_AS(read_reference_launches({{"eager", bad}, {"fused", json::array()}, {"least_bytes", 1}}),
                  InputError);
}

}  // namespace
}  // namespace bicrl
