#include "sandbox/cost/cost_report.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace bicrl {
namespace {

constexpr size_t kMostLines = 8;

template <class... Arguments>
void print(std::string& text, const char* format, Arguments... arguments) {
  char line[400];
  snprintf(line, sizeof line, format, arguments...);
  text += line;
}

double us(double ms) { return 1000 * ms; }
unsigned long long big(uint64_t value) { return value; }

void print_launch(std::string& text, size_t number, const std::string& name, const LaunchCounters& c,
                  const LaunchCost& cost) {
  print(text, "launch %zu: %.120s, %.2f us, bound by %s (%s)\n", number, name.c_str(), us(cost.total_ms),
        std::string(to_string(cost.bound_by)).c_str(), std::string(bound_family(cost.bound_by)).c_str());
  text += "  each part alone, us:";
  for (size_t i = 0; i < kBounds; ++i)
    if (cost.parts_ms[i] > 0)
      print(text, " %s %.2f", std::string(to_string(static_cast<Bound>(i))).c_str(), us(cost.parts_ms[i]));
  print(text, " launch %.2f\n", us(cost.launch_ms));
  if (c.kind != LaunchCounters::Kind::kKernel) return;
  print(text,
        "  blocks %llu of %llu threads, %llu registers, %llu bytes shared: %u warps resident (%.0f %%), "
        "limited by %s\n",
        big(c.blocks), big(c.threads_per_block), big(c.registers_per_thread), big(c.shared_bytes_per_block),
        cost.occupancy.warps, 100 * cost.occupancy.share, std::string(cost.occupancy.limited_by).c_str());
  text += "  instructions of warps:";
  for (size_t i = 0; i < kInstructionKinds; ++i)
    if (c.instructions[i] > 0)
      print(text, " %s %llu", std::string(to_string(static_cast<InstructionKind>(i))).c_str(),
            big(c.instructions[i]));
  print(text, "; %.1f of 32 lanes active, %llu diverged\n",
        c.executed == 0 ? 0.0 : static_cast<double>(c.executed_lanes) / static_cast<double>(c.executed),
        big(c.diverged));
  print(
      text,
      "  global memory: %llu loads of %.1f sectors, %llu stores of %.1f sectors, %llu sectors past L1; "
      "distinct: %llu read (%llu cold), %llu written\n",
      big(c.load_requests),
      c.load_requests == 0 ? 0.0 : static_cast<double>(c.load_sectors) / static_cast<double>(c.load_requests),
      big(c.store_requests),
      c.store_requests == 0 ? 0.0
                            : static_cast<double>(c.store_sectors) / static_cast<double>(c.store_requests),
      big(c.l2_load_sectors), big(c.distinct_read_sectors()), big(c.cold_sectors), big(c.written_sectors));
  if (c.shared_requests > 0)
    print(text, "  shared memory: %llu requests, %llu wavefronts, %llu passes of atomics\n",
          big(c.shared_requests), big(c.shared_wavefronts), big(c.shared_atomic_passes));
  if (c.global_atomics > 0)
    print(text, "  atomics: %llu of lanes, %llu on the hottest address\n", big(c.global_atomics),
          big(c.hottest_atomics));
  if (c.local_sectors > 0) print(text, "  local memory: %llu sectors\n", big(c.local_sectors));
}

void print_lines(std::string& text, const std::vector<LaunchCounters>& launches) {
  std::map<uint32_t, LineCounters> lines;
  for (const LaunchCounters& launch : launches)
    for (const LineCounters& line : launch.lines) {
      if (line.line == 0) continue;
      LineCounters& sum = lines[line.line];
      sum.line = line.line;
      sum.instructions += line.instructions;
      sum.global_sectors += line.global_sectors;
      sum.shared_wavefronts += line.shared_wavefronts;
    }
  const auto weight = [](const LineCounters& line) {
    return line.instructions + line.global_sectors + line.shared_wavefronts;
  };
  std::vector<LineCounters> sorted;
  for (const auto& [number, line] : lines) sorted.push_back(line);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const LineCounters& a, const LineCounters& b) { return weight(a) > weight(b); });
  if (sorted.size() > kMostLines) sorted.resize(kMostLines);
  if (sorted.empty()) return;
  text += "lines of the device text that cost most (instructions of warps, sectors, wavefronts):\n";
  for (const LineCounters& line : sorted)
    print(text, "  line %u: %llu, %llu, %llu\n", line.line, big(line.instructions), big(line.global_sectors),
          big(line.shared_wavefronts));
}

}  // namespace

std::string cost_report(const std::vector<LaunchCounters>& launches, const std::vector<std::string>& names,
                        const DeviceTable& device) {
  const ProgramCost cost = model_program(launches, device);
  std::string text;
  print(text,
        "modelled on %s (tables %s; a model, not a time): %.2f us in %zu launches, bound by %s; %.2f us are "
        "launches\n",
        std::string(device.name).c_str(), std::string(kDeviceTablesVersion).c_str(), us(cost.modelled_ms),
        launches.size(), std::string(cost.bound_by).c_str(), us(cost.launch_ms));
  for (size_t i = 0; i < launches.size(); ++i)
    print_launch(text, i + 1, names.at(i), launches[i], cost.launches[i]);
  print_lines(text, launches);
  return text;
}

}  // namespace bicrl
