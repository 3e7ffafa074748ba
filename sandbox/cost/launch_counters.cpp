#include "sandbox/cost/launch_counters.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/error.h"

namespace bicrl {
namespace {

constexpr std::string_view kKindNames[kInstructionKinds] = {
    "fp32",  "fp64",   "half",     "integer", "convert", "special", "global",
    "local", "shared", "exchange", "control", "barrier", "tensor"};
constexpr std::string_view kLaunchNames[] = {"kernel", "fill", "copy", "upload"};

// Calls work(name, member) for every number of the struct.
template <class Counters, class Work>
void for_each_number(Counters& c, const Work& work) {
  work("blocks", c.blocks);
  work("threads_per_block", c.threads_per_block);
  work("shared_bytes_per_block", c.shared_bytes_per_block);
  work("registers_per_thread", c.registers_per_thread);
  work("executed", c.executed);
  work("executed_lanes", c.executed_lanes);
  work("diverged", c.diverged);
  work("load_requests", c.load_requests);
  work("store_requests", c.store_requests);
  work("load_sectors", c.load_sectors);
  work("store_sectors", c.store_sectors);
  work("l2_load_sectors", c.l2_load_sectors);
  work("atomic_sectors", c.atomic_sectors);
  work("served_by_l1", c.served_by_l1);
  work("served_by_l2", c.served_by_l2);
  work("served_by_memory", c.served_by_memory);
  work("cold_sectors", c.cold_sectors);
  work("written_sectors", c.written_sectors);
  work("l1_wavefronts", c.l1_wavefronts);
  work("local_sectors", c.local_sectors);
  work("shared_requests", c.shared_requests);
  work("shared_wavefronts", c.shared_wavefronts);
  work("global_atomics", c.global_atomics);
  work("hottest_atomics", c.hottest_atomics);
  work("shared_atomic_passes", c.shared_atomic_passes);
  work("uploaded_bytes", c.uploaded_bytes);
  work("waits", c.waits);
  work("chain_accesses", c.chains.accesses);
  work("chain_cycles", c.chains.cycles);
  work("longest_chain_accesses", c.longest_chain.accesses);
  work("longest_chain_cycles", c.longest_chain.cycles);
}

}  // namespace

std::string_view to_string(InstructionKind kind) { return kKindNames[static_cast<size_t>(kind)]; }
std::string_view to_string(LaunchCounters::Kind kind) { return kLaunchNames[static_cast<size_t>(kind)]; }

uint64_t LaunchCounters::distinct_read_sectors() const {
  return std::accumulate(reused_sectors.begin(), reused_sectors.end(), cold_sectors);
}

nlohmann::json to_json(const LaunchCounters& counters) {
  nlohmann::json json{{"kind", to_string(counters.kind)},          {"name", counters.name},
                      {"instructions", counters.instructions},     {"tensor_flops", counters.tensor_flops},
                      {"reused_sectors", counters.reused_sectors}, {"lines", nlohmann::json::array()}};
  for_each_number(counters, [&](const char* name, uint64_t value) { json[name] = value; });
  for (const LineCounters& line : counters.lines)
    json["lines"].push_back({line.line, line.instructions, line.global_sectors, line.shared_wavefronts});
  return json;
}

LaunchCounters launch_counters_from_json(const nlohmann::json& json) {
  LaunchCounters counters;
  try {
    const auto kind = std::find(std::begin(kLaunchNames), std::end(kLaunchNames),
                                json.at("kind").get_ref<const std::string&>());
    if (kind == std::end(kLaunchNames)) throw InputError("counters: field 'kind' has an unknown value");
    counters.kind = static_cast<LaunchCounters::Kind>(kind - std::begin(kLaunchNames));
    counters.name = json.at("name");
    counters.instructions = json.at("instructions");
    counters.tensor_flops = json.at("tensor_flops");
    counters.reused_sectors = json.at("reused_sectors");
    for_each_number(counters, [&](const char* name, uint64_t& value) { value = json.at(name); });
    for (const auto& line : json.at("lines"))
      counters.lines.push_back({line.at(0), line.at(1), line.at(2), line.at(3)});
  } catch (const nlohmann::json::exception& error) {
    throw InputError(concat("counters: ", error.what()));
  }
  return counters;
}

LaunchCounters repeated(const LaunchCounters& counters, uint64_t times, Growth growth) {
  BICRL_CHECK(times > 0, "a launch that happens");
  LaunchCounters larger = counters;
  for_each_number(larger, [times](const char*, uint64_t& value) { value *= times; });
  // What belongs to one block.
  larger.threads_per_block = counters.threads_per_block;
  larger.shared_bytes_per_block = counters.shared_bytes_per_block;
  larger.registers_per_thread = counters.registers_per_thread;
  if (growth == Growth::kBlocks)
    larger.longest_chain = counters.longest_chain;
  else
    larger.blocks = counters.blocks;
  for (uint64_t& number : larger.instructions) number *= times;
  for (uint64_t& flops : larger.tensor_flops) flops *= times;
  for (LineCounters& line : larger.lines) {
    line.instructions *= times;
    line.global_sectors *= times;
    line.shared_wavefronts *= times;
  }
  const auto farther = static_cast<size_t>(std::bit_width(times - 1));
  larger.reused_sectors = {};
  for (size_t i = 0; i < kReuseClasses; ++i)
    larger.reused_sectors[std::min(i + farther, kReuseClasses - 1)] += times * counters.reused_sectors[i];
  return larger;
}

// A warp moves 512 bytes in one request, as a runtime's own kernels do.
LaunchCounters streaming_launch(LaunchCounters::Kind kind, uint64_t read_bytes, uint64_t written_bytes) {
  constexpr uint64_t kThreads = 256, kRequestBytes = 512, kInstructions = 4;
  const auto units = [](uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit; };
  LaunchCounters counters;
  counters.kind = kind;
  counters.load_requests = counters.served_by_memory = units(read_bytes, kRequestBytes);
  counters.store_requests = units(written_bytes, kRequestBytes);
  counters.load_sectors = counters.l2_load_sectors = counters.cold_sectors = units(read_bytes, kSectorBytes);
  counters.store_sectors = counters.written_sectors = units(written_bytes, kSectorBytes);
  counters.l1_wavefronts = units(read_bytes, kRequestBytes / 4) + units(written_bytes, kRequestBytes / 4);
  const uint64_t requests = std::max({counters.load_requests, counters.store_requests, uint64_t{1}});
  counters.threads_per_block = kThreads;
  counters.blocks = units(requests, kThreads / 32);
  counters.instructions[static_cast<size_t>(InstructionKind::kGlobal)] =
      counters.load_requests + counters.store_requests;
  counters.instructions[static_cast<size_t>(InstructionKind::kInteger)] = kInstructions * requests;
  counters.executed = kInstructions * requests + counters.load_requests + counters.store_requests;
  counters.executed_lanes = 32 * counters.executed;
  counters.waits = counters.load_requests;
  counters.chains = {counters.load_requests > 0 ? counters.blocks : 0, 2 * kInstructions * counters.blocks};
  counters.longest_chain = {counters.load_requests > 0 ? uint64_t{1} : 0, 2 * kInstructions};
  return counters;
}

}  // namespace bicrl
