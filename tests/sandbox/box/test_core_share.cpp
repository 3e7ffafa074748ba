// Cores that boxes leave to what feeds GPUs.
#include "sandbox/box/core_share.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "sandbox/box/box.h"
#include "tests/sandbox/service/service_support.h"

namespace bicrl {
namespace {

cpu_set_t cores(std::initializer_list<size_t> numbers) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const size_t number : numbers) CPU_SET(number, &set);
  return set;
}

int cores_in_a_box(BoxHost& host, bool on_all_cores) {
  BoxSpec spec;
  spec.root = SystemRoot::kToolchain;
  spec.argv = {"/usr/bin/nproc"};
  spec.on_all_cores = on_all_cores;
  const BoxResult result = run_box(host, spec);
  INFO(result.reason << result.output);
  REQUIRE(result.succeeded());
  return atoi(result.output.c_str());
}

}  // namespace

TEST_CASE("the last cores of those that there are are set aside, never all") {
  const CoreShare some = CoreShare::divide(cores({1, 2, 5, 9}), 2);
  CHECK(some.total() == 4);
  CHECK(some.set_aside() == 2);
  const cpu_set_t first_two = cores({1, 2});
  REQUIRE(some.of_boxes());
  CHECK(CPU_EQUAL(&*some.of_boxes(), &first_two));
  CHECK_FALSE(CoreShare::divide(cores({1, 2}), 0).of_boxes());
  CHECK(CoreShare::divide(cores({1, 2}), 7).set_aside() == 1);
  CHECK_FALSE(CoreShare::divide(cores({3}), 1).of_boxes());
  CHECK_FALSE(CoreShare::divide(cores({}), 1).of_boxes());
}

TEST_CASE("boxes run on the cores that are left, unless they feed a GPU") {
  testing::box_host();
  const int all = CoreShare::divide(CoreShare::of_this_process(), 0).total();
  if (all < 2) SKIP("one core");
  BoxHost host("", 1);
  CHECK(cores_in_a_box(host, false) == all - 1);
  CHECK(cores_in_a_box(host, true) == all);
}

}  // namespace bicrl
