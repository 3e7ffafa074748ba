#include "sandbox/cost/operator_cost.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "common/error.h"
#include "sandbox/cost/cost_model.h"

namespace bicrl {
namespace {

// What libraries reach of an arithmetic unit's rate: cuBLAS in products, cuDNN in convolutions.
constexpr uint64_t kMatrixPercent = 80, kConvolutionPercent = 50;
constexpr uint64_t kTileOutputs = 64 * 64;  // of a block
constexpr uint64_t kLeastBlockFlops = uint64_t{1}
                                      << 22;  // beyond, products with few outputs are split by depth
constexpr uint64_t kMostSplitBlocks = 128;
constexpr uint64_t kStreamInstructions = 4;  // of a warp, for 32 elements
constexpr uint64_t kMostBytes = uint64_t{1} << 50;

uint64_t whole(const nlohmann::json& object, const char* name) {
  const auto value = object.at(name).get<int64_t>();
  if (value < 0 || static_cast<uint64_t>(value) > kMostBytes)
    throw InputError(concat("the reference's operators: ", name, " is ", value));
  return static_cast<uint64_t>(value);
}

void add_reads(const nlohmann::json& reads, LaunchCounters& counters) {
  counters.cold_sectors = 0;
  for (const auto& read : reads) {
    const auto bytes = read.at(0).get<uint64_t>();
    const auto distance = read.at(1).get<int64_t>();
    const uint64_t sectors = (bytes + kSectorBytes - 1) / kSectorBytes;
    if (distance < 0) {
      counters.cold_sectors += sectors;
      continue;
    }
    size_t nearness = 0;
    while (nearness + 1 < kReuseClasses && static_cast<uint64_t>(distance) > kLeastReuseBytes << nearness)
      ++nearness;
    counters.reused_sectors[nearness] += sectors;
  }
}

void add_product(const std::string& precision, uint64_t flops, uint64_t percent, uint64_t outputs,
                 LaunchCounters& counters) {
  const uint64_t effort = flops * 100 / percent;
  const auto kind = [&counters](InstructionKind k) -> uint64_t& {
    return counters.instructions[static_cast<size_t>(k)];
  };
  const auto tensor = [&counters](TensorType type) -> uint64_t& {
    return counters.tensor_flops[static_cast<size_t>(type)];
  };
  constexpr uint64_t kWarpFmaFlops = 2 * 32;
  if (precision == "half")
    tensor(TensorType::kHalf) = effort;
  else if (precision == "tf32")
    tensor(TensorType::kTF32) = effort;
  else if (precision == "float64")
    kind(InstructionKind::kFloat64) = effort / kWarpFmaFlops;
  else
    kind(InstructionKind::kFloat32) = effort / kWarpFmaFlops;
  const uint64_t tiles = std::max<uint64_t>(1, (outputs + kTileOutputs - 1) / kTileOutputs);
  counters.blocks = std::max(tiles, std::min(kMostSplitBlocks, flops / kLeastBlockFlops));
  // A step of depth 16 waits for shared memory and a barrier about as long as for 64 cycles.
  const uint64_t depth = flops / (2 * kTileOutputs * counters.blocks);
  counters.chains = {2 * counters.blocks, 4 * depth * counters.blocks};
  counters.longest_chain = {2, 4 * depth};
  counters.waits = counters.chains.accesses;
  // Each tile reads its rows and columns: with 64 of both, 4 bytes for 64 operations.
  counters.l2_load_sectors = std::max(counters.l2_load_sectors, flops / (16 * kSectorBytes));
}

AlikeLaunches read_operator(const nlohmann::json& entry) {
  uint64_t read = 0;
  for (const auto& one : entry.at("reads")) read += one.at(0).get<uint64_t>();
  if (read > kMostBytes) throw InputError("the reference's operators read too much");
  LaunchCounters counters = streaming_launch(LaunchCounters::Kind::kKernel, read, whole(entry, "written"));
  counters.name = entry.at("name").get<std::string>().substr(0, 80);
  add_reads(entry.at("reads"), counters);
  const std::string kind = entry.at("kind"), precision = entry.at("precision");
  if (kind == "stream") {
    const auto unit = precision == "float64" ? InstructionKind::kFloat64 : InstructionKind::kFloat32;
    counters.instructions[static_cast<size_t>(unit)] += kStreamInstructions * (whole(entry, "flops") / 32);
  } else {
    add_product(precision, whole(entry, "flops"), kind == "matrix" ? kMatrixPercent : kConvolutionPercent,
                whole(entry, "outputs"), counters);
  }
  return {std::move(counters), whole(entry, "count")};
}

}  // namespace

ReferenceLaunches read_reference_launches(const nlohmann::json& operators) {
  ReferenceLaunches launches;
  for (const auto& entry : operators.at("eager")) launches.eager.push_back(read_operator(entry));
  for (const auto& entry : operators.at("fused")) launches.fused.push_back(read_operator(entry));
  launches.least_bytes = whole(operators, "least_bytes");
  return launches;
}

double modelled_ms(const std::vector<AlikeLaunches>& launches, const DeviceTable& device, uint64_t repeats) {
  double ms = 0;
  for (const AlikeLaunches& alike : launches)
    ms += static_cast<double>(alike.count) * model_launch(repeated(alike.each, repeats), device).total_ms;
  return ms;
}

}  // namespace bicrl
