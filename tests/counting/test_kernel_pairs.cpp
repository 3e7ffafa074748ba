// The ranking of pairs of kernels. The table of bench/cost_model.md:  test_counting "[table]"
#include <catch2/catch_test_macros.hpp>
#include <cstdio>

#include "common/clock.h"
#include "tests/counting/kernel_pairs.h"

namespace bicrl {

using testing::CountedKernel;
using testing::kernel_pairs;
using testing::KernelPair;

TEST_CASE("thirty pairs of kernels rank as a person would rank them") {
  CHECK(kernel_pairs().size() == 30);
  for (const KernelPair& pair : kernel_pairs()) {
    CountedKernel slow(pair.text), fast(pair.text);
    pair.slow(slow);
    pair.fast(fast);
    const double ratio = slow.modelled_ms() / fast.modelled_ms();
    INFO(pair.name << ": " << ratio << ", expected " << pair.least << " to " << pair.most << "\n"
                   << slow.report() << fast.report());
    CHECK(ratio >= pair.least);
    CHECK(ratio <= pair.most);
  }
}

TEST_CASE("modelled times of pairs of kernels", "[.table]") {
  const auto print_form = [](const CountedKernel& run) {
    LaunchCounters sum;
    for (const LaunchCounters& launch : run.counting.launches()) {
      sum.executed += launch.executed;
      sum.load_sectors += launch.load_sectors + launch.store_sectors;
      sum.cold_sectors += launch.distinct_read_sectors() + launch.written_sectors;
      sum.shared_wavefronts += launch.shared_wavefronts + launch.shared_atomic_passes;
      sum.hottest_atomics += launch.hottest_atomics;
    }
    const ProgramCost cost = model_program(run.counting.launches(), *find_device_table("h100"));
    printf("| %zu | %llu | %llu | %llu | %llu | %llu | %.2f | %s ", run.counting.launches().size(),
           static_cast<unsigned long long>(sum.executed), static_cast<unsigned long long>(sum.load_sectors),
           static_cast<unsigned long long>(sum.cold_sectors),
           static_cast<unsigned long long>(sum.shared_wavefronts),
           static_cast<unsigned long long>(sum.hottest_atomics), 1000 * cost.modelled_ms,
           std::string(cost.bound_by).c_str());
  };
  for (const KernelPair& pair : kernel_pairs()) {
    CountedKernel slow(pair.text), fast(pair.text);
    pair.slow(slow);
    pair.fast(fast);
    printf("| %s | slow ", pair.name.c_str());
    print_form(slow);
    printf("| | |\n| | fast ");
    print_form(fast);
    printf("| %.2f | %g to %g |\n", slow.modelled_ms() / fast.modelled_ms(), pair.least, pair.most);
  }
}

// Not a test:  test_counting "[throughput]"
TEST_CASE("what counting costs beside a plain run", "[.throughput]") {
  for (const KernelPair& pair : kernel_pairs()) {
    double seconds[2] = {};
    for (const bool counts : {false, true}) {
      CountedKernel run(pair.text);
      if (!counts) run.runner.observer = nullptr;
      const Stopwatch watch;
      pair.fast(run);
      seconds[counts] = watch.seconds();
    }
    printf("%-60s plain %.3f s, counted %.2f times\n", pair.name.c_str(), seconds[0],
           seconds[1] / seconds[0]);
  }
}

}  // namespace bicrl
