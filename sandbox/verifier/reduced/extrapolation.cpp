#include "sandbox/verifier/reduced/extrapolation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/error.h"
#include "sandbox/frontend/device/entry_names.h"

namespace bicrl {
namespace {

constexpr double kGrowsAlike = 2;  // the work's growth over that of the task's bytes
// The grid's growth over that of the task's bytes: 0.908 to 1.091 for the ordinary programs of tests/large,
// from all sizes that can be the base. It is more where a border takes much of a small answer, and less where
// a small grid is rounded up.
constexpr double kLeastGridGrowth = 0.9, kMostGridGrowth = 1.25;
constexpr double kLeastGrowth = 16;  // so that a grid that does not grow differs clearly from one that does

bool same_kernel(const TraceOp& a, const TraceOp& b) {
  return a.module == b.module && a.entry == b.entry && a.shared_bytes == b.shared_bytes &&
         a.cooperative == b.cooperative && std::equal(std::begin(a.block), std::end(a.block), b.block);
}

bool is_within(double ratio, double factor) { return ratio <= factor && ratio >= 1 / factor; }

// What blocks do that can differ: instructions, and what they move.
bool do_alike(const LaunchCounters& a, const LaunchCounters& b) {
  const auto per_block = [&](uint64_t of_a, uint64_t of_b) {
    if (of_a == 0 || of_b == 0) return of_a == of_b;
    return is_within(double(of_a) / double(a.blocks) / (double(of_b) / double(b.blocks)), kAlike);
  };
  return per_block(a.executed, b.executed) && per_block(a.load_sectors, b.load_sectors) &&
         per_block(a.store_sectors, b.store_sectors) && per_block(a.shared_wavefronts, b.shared_wavefronts);
}

uint64_t whole_times(double times) { return static_cast<uint64_t>(std::max(1.0, std::round(times))); }

// Of `one`, if all is alike at `other`.
Extrapolation extrapolate_from(const CountedSize& one, const CountedSize& other, const CountedSize& own) {
  const auto kernels = own.trace->kernel_launches(), of_one = one.trace->kernel_launches(),
             of_other = other.trace->kernel_launches();
  const auto none = [](const auto&... parts) { return Extrapolation{{}, concat(parts...)}; };
  if (kernels.size() != of_one.size() || kernels.size() != of_other.size() ||
      one.launches.size() != other.launches.size())
    return none("it launches ", kernels.size(), " kernels at its own size, ", of_one.size(), " and ",
                of_other.size(), " at reduced ones");
  const double growth = double(own.least_bytes) / double(std::max<uint64_t>(one.least_bytes, 1));
  if (growth < kLeastGrowth) return none("its own size is hardly larger than the reduced ones");
  if (!is_within(own.lane_operations / std::max(one.lane_operations, 1.0) / growth, kGrowsAlike))
    return none("the task's work grows otherwise than what it reads and writes");
  Extrapolation found;
  size_t kernel = 0;
  for (size_t i = 0; i < one.launches.size(); ++i) {
    const LaunchCounters &a = one.launches[i], &b = other.launches[i];
    if (a.kind != b.kind) return none("it does other work at other sizes");
    if (a.kind != LaunchCounters::Kind::kKernel) {
      found.launches.push_back(repeated(a, whole_times(growth)));
      continue;
    }
    if (kernel == kernels.size()) return none("it launches other kernels at its own size");
    const TraceOp& launch = *kernels[kernel];
    const std::string name = readable_name(launch.entry);
    if (!same_kernel(launch, *of_one[kernel]) || !same_kernel(launch, *of_other[kernel]))
      return none("it launches other kernels or blocks at its own size than at reduced ones");
    if (!do_alike(a, b)) return none("blocks of ", name, " do other work at other sizes");
    const double times = double(launch.blocks()) / double(a.blocks);
    if (times < kLeastGridGrowth * growth || times > kMostGridGrowth * growth)
      return none("the grid of ", name, " does not grow as the task does");
    found.launches.push_back(repeated(a, whole_times(std::max(times, growth))));
    ++kernel;
  }
  if (kernel != kernels.size()) return none("it launches other kernels at its own size");
  return found;
}

}  // namespace

const CountedSize& base_size(const std::vector<CountedSize>& counted) {
  return *std::ranges::max_element(
      counted, {}, [](const CountedSize& size) { return std::pair(size.is_long, size.least_bytes); });
}

Extrapolation extrapolate(const CountedSize& own, const std::vector<CountedSize>& counted) {
  const CountedSize& base = base_size(counted);
  Extrapolation found;
  for (const CountedSize& other : counted) {
    if (&other == &base) continue;
    found = extrapolate_from(base, other, own);
    if (found.launches.empty()) break;
  }
  return found;
}

}  // namespace bicrl
