#include "sandbox/verifier/reduced/own_size_sample.h"

#include <algorithm>
#include <string_view>

#include "common/error.h"
#include "sandbox/frontend/device/entry_names.h"

namespace bicrl {
namespace {

// Of the ordinary programs of tests/large blocks of the own size execute 1.00 to 1.21 times the instructions
// of reduced ones, as few blocks have a part of the last one in their mean.
constexpr double kLeastInstructions = 0.9, kMostInstructions = 1.6;
// They move 0.70 to 1.26 times the sectors, as rows of odd sizes begin within sectors besides.
constexpr double kSectorsAlike = 1.6;
constexpr uint32_t kPointerBytes = 8;  // an array of bytes is compared by them, as no number is longer

// By launch, those of kernels.
std::vector<const LaunchCounters*> kernel_counters(const CountedSize& size) {
  std::vector<const LaunchCounters*> counters;
  for (const LaunchCounters& launch : size.launches)
    if (launch.kind == LaunchCounters::Kind::kKernel) counters.push_back(&launch);
  return counters;
}

// ---- Work ----

bool does_alike(const SampledBlock& block, const LaunchCounters& counted, bool is_last) {
  const auto alike = [&](uint64_t of_block, uint64_t of_counted, double least, double most) {
    if (of_block == 0 || of_counted == 0) return of_block == of_counted || (is_last && of_block == 0);
    const double ratio = double(of_block) / (double(of_counted) / double(counted.blocks));
    return ratio <= most && (is_last || ratio >= least);
  };
  return alike(block.executed, counted.executed, kLeastInstructions, kMostInstructions) &&
         alike(block.load_sectors, counted.load_sectors, 1 / kSectorsAlike, kSectorsAlike) &&
         alike(block.store_sectors, counted.store_sectors, 1 / kSectorsAlike, kSectorsAlike) &&
         alike(block.shared_wavefronts, counted.shared_wavefronts, 1 / kAlike, kAlike);
}

// ---- Numbers ----

bool is_pointer(const TraceOp& launch, uint32_t begin, uint32_t bytes) {
  return std::ranges::any_of(launch.relocations, [&](const TraceRelocation& pointer) {
    return pointer.offset < begin + bytes && begin < pointer.offset + kPointerBytes;
  });
}

// Whether the bytes are the same at all reduced sizes, and others at the own one.
bool is_other_number(const TraceOp& own, const std::vector<const TraceOp*>& reduced, uint32_t begin,
                     uint32_t bytes) {
  if (begin + bytes > own.arguments.size() || is_pointer(own, begin, bytes)) return false;
  const auto of = [&](const TraceOp& launch) {
    return std::string_view(launch.arguments).substr(begin, bytes);
  };
  return of(own) != of(*reduced.front()) && std::ranges::all_of(reduced, [&](const TraceOp* launch) {
           return of(*launch) == of(*reduced.front());
         });
}

bool passes_other_numbers(const TraceOp& own, const std::vector<const TraceOp*>& reduced,
                          const SampledLaunch& sampled) {
  for (const auto& [begin, bytes] : sampled.parameters)
    for (uint32_t at = 0; at < bytes; at += kPointerBytes)
      if (is_other_number(own, reduced, begin + at, std::min(kPointerBytes, bytes - at))) return true;
  return false;
}

}  // namespace

std::vector<uint64_t> most_blocks(const std::vector<CountedSize>& counted) {
  std::vector<uint64_t> most;
  for (const CountedSize& size : counted) {
    const auto kernels = size.trace->kernel_launches();
    most.resize(std::max(most.size(), kernels.size()));
    for (size_t i = 0; i < kernels.size(); ++i) most[i] = std::max(most[i], kernels[i]->blocks());
  }
  return most;
}

std::string difference_at_own_size(const Trace& own, const std::vector<CountedSize>& counted,
                                   const std::vector<SampledLaunch>& sampled) {
  const auto kernels = own.kernel_launches();
  if (sampled.size() != kernels.size()) return "blocks of all its launches did not run at its own size";
  std::vector<std::vector<const TraceOp*>> reduced(kernels.size());
  for (const CountedSize& size : counted) {
    const auto of_size = size.trace->kernel_launches();
    for (size_t i = 0; i < kernels.size(); ++i) reduced[i].push_back(of_size[i]);
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (passes_other_numbers(*kernels[i], reduced[i], sampled[i]))
      return "it passes other numbers at its own size";
    const bool alike = std::ranges::all_of(counted, [&](const CountedSize& size) {
      const LaunchCounters& counters = *kernel_counters(size)[i];
      return std::ranges::all_of(sampled[i].blocks, [&](const SampledBlock& block) {
        return does_alike(block, counters, block.number + 1 == kernels[i]->blocks());
      });
    });
    if (!alike)
      return concat("blocks of ", readable_name(kernels[i]->entry), " do other work at its own size");
  }
  return "";
}

std::string sampled_share(const Trace& own, const std::vector<SampledLaunch>& sampled) {
  uint64_t ran = 0, all = 0;
  for (const SampledLaunch& launch : sampled) ran += launch.blocks.size();
  for (const TraceOp* launch : own.kernel_launches()) all += launch->blocks();
  return concat(ran, " of ", all);
}

}  // namespace bicrl
