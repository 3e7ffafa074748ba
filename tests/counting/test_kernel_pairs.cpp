// The ranking of pairs of kernels. The table of bench/cost_model.md:  test_counting "[table]"
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "common/clock.h"
#include "tests/counting/kernel_pairs.h"

namespace bicrl {

using testing::CountedKernel;
using testing::kernel_pairs;
using testing::KernelForm;
using testing::KernelPair;

namespace {

// Spearman's.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto rank = [](const std::vector<double>& values, double value) {
    const auto below = std::count_if(values.begin(), values.end(), [&](double v) { return v < value; });
    const auto equal = std::count(values.begin(), values.end(), value);
    return static_cast<double>(below) + static_cast<double>(equal - 1) / 2;
  };
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double both = 0, of_a = 0, of_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = rank(a, a[i]) - mean, y = rank(b, b[i]) - mean;
    both += x * y;
    of_a += x * x;
    of_b += y * y;
  }
  return both / std::sqrt(of_a * of_b);
}

}  // namespace

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

// Not a test, for a machine with an H100 or H200:  test_counting "[measured]"
TEST_CASE("modelled and measured times of pairs of kernels", "[.measured]") {
  const char* device = getenv("BICRL_DEVICE_TABLE") ? getenv("BICRL_DEVICE_TABLE") : "h100";
  std::vector<double> modelled, measured;
  const auto time = [&](const KernelPair& pair, const KernelForm& form) {
    CountedKernel run(pair.text);
    ptx::testing::GpuClock clock(run.runner.ptx());
    run.runner.clock = &clock;
    form(run);
    modelled.push_back(1000 * run.modelled_ms(device));
    measured.push_back(1000 * clock.median_ms(41));
  };
  printf("| work | slow: modelled us | measured | fast: modelled | measured | ratio modelled | measured |\n");
  int agreeing = 0;
  for (const KernelPair& pair : kernel_pairs()) {
    time(pair, pair.slow);
    time(pair, pair.fast);
    const size_t n = modelled.size();
    const double by_model = modelled[n - 2] / modelled[n - 1], by_clock = measured[n - 2] / measured[n - 1];
    agreeing += (by_model > 1) == (by_clock > 1);
    printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n", pair.name.c_str(), modelled[n - 2],
           measured[n - 2], modelled[n - 1], measured[n - 1], by_model, by_clock);
  }
  printf("%d of %zu pairs in the same order; rank correlation of all kernels %.3f\n", agreeing,
         kernel_pairs().size(), rank_correlation(modelled, measured));
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
