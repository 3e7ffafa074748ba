#include "sandbox/cost/cost_model.h"

#include <algorithm>

namespace bicrl {
namespace {

// What L2 gives one multiprocessor in a cycle.
constexpr double kFillBytesPerCycle = 64;
constexpr double kLineSectors = 4;  // of 128 bytes
// How much of what does not bound a launch adds to its time: nothing overlaps perfectly. With an eighth a
// large copy has nine tenths of the memory's bandwidth, as measured (4.3 of 4.8 TB/s on an H200).
constexpr double kUnhidden = 0.125;
// A lane's update of a word in shared memory that others of its warp wait for.
constexpr double kPassWavefronts = 2;

constexpr std::string_view kNames[kBounds] = {"dram",   "l2",      "l1",      "shared", "issue", "pipe",
                                              "tensor", "atomics", "latency", "starts", "host"};

// From sizes to seconds: what the busiest multiprocessor has to do, and what the whole device has.
class LaunchModel {
 public:
  LaunchModel(const LaunchCounters& launch, const DeviceTable& device)
      : c_(launch), d_(device), occupancy_(occupancy_of(launch, device)) {
    const double blocks = static_cast<double>(std::max<uint64_t>(launch.blocks, 1));
    const uint64_t most =
        (std::max<uint64_t>(launch.blocks, 1) + d_.multiprocessors - 1) / d_.multiprocessors;
    blocks_per_multiprocessor_ = static_cast<double>(most);
    busiest_share_ = blocks_per_multiprocessor_ / blocks;
    far_share_ = far_share();
  }

  LaunchCost run() {
    LaunchCost cost;
    cost.occupancy = occupancy_;
    cost.launch_ms = d_.launch_us / 1000;
    const auto set = [&cost](Bound bound, double ms) { cost.parts_ms[static_cast<size_t>(bound)] = ms; };
    set(Bound::kDram, dram_ms());
    set(Bound::kL2, l2_ms());
    set(Bound::kL1, busiest_ms((number(c_.l1_wavefronts) + number(c_.local_sectors) / kLineSectors) /
                               d_.l1_wavefronts_per_cycle));
    set(Bound::kShared,
        busiest_ms((number(c_.shared_wavefronts) + kPassWavefronts * number(c_.shared_atomic_passes)) /
                   d_.shared_wavefronts_per_cycle));
    set(Bound::kIssue, busiest_ms(slots() / d_.schedulers));
    set(Bound::kPipe, busiest_ms(pipe_cycles()));
    set(Bound::kTensor, busiest_ms(tensor_cycles()));
    set(Bound::kAtomics, ms(std::max(number(c_.global_atomics) / d_.global_atomics_per_cycle,
                                     number(c_.hottest_atomics) / d_.same_address_atomics_per_cycle)));
    set(Bound::kLatency, ms(latency_cycles()));
    if (c_.kind == LaunchCounters::Kind::kKernel)  // blocks of a runtime's own copies and fills go round
      set(Bound::kStarts, ms(number(c_.blocks) / d_.block_starts_per_cycle));
    set(Bound::kHost, number(c_.uploaded_bytes) / (d_.host_link_gb_per_s * 1e6));
    double most = 0, sum = 0;
    for (size_t i = 0; i < kBounds; ++i) {
      sum += cost.parts_ms[i];
      if (cost.parts_ms[i] <= most) continue;
      most = cost.parts_ms[i];
      cost.bound_by = static_cast<Bound>(i);
    }
    cost.total_ms = most + kUnhidden * (sum - most) + cost.launch_ms;
    return cost;
  }

 private:
  static double number(uint64_t value) { return static_cast<double>(value); }
  double ms(double cycles) const { return cycles / (d_.clock_ghz * 1e6); }
  // Cycles of all blocks' work if one multiprocessor did it.
  double busiest_ms(double cycles) const { return ms(cycles * busiest_share_); }

  // Distinct sectors read that L2 does not hold: never touched, or too long ago.
  double far_sectors() const {
    uint64_t sectors = c_.cold_sectors;
    for (size_t i = 0; i < kReuseClasses; ++i)
      if (i + 1 == kReuseClasses || (kLeastReuseBytes << i) > d_.l2_bytes) sectors += c_.reused_sectors[i];
    return number(sectors);
  }
  double far_share() const {
    const uint64_t read = c_.distinct_read_sectors();
    return read == 0 ? 0 : far_sectors() / number(read);
  }

  // What is read within a launch again and again comes from L2 as long as what the launch touches fits there;
  // the part that does not fit comes from memory each time.
  double dram_ms() const {
    const double touched = number(c_.distinct_read_sectors() + c_.written_sectors) * kSectorBytes;
    const double again =
        number(c_.l2_load_sectors - std::min(c_.l2_load_sectors, c_.distinct_read_sectors()));
    const double l2_bytes = number(d_.l2_bytes);
    const double missing = touched > l2_bytes ? 1 - l2_bytes / touched : 0;
    const double sectors = far_sectors() + number(c_.written_sectors) + again * missing;
    return sectors * kSectorBytes / (d_.dram_gb_per_s * 1e6);
  }

  double l2_ms() const {
    const double bytes = number(c_.l2_load_sectors + c_.store_sectors + c_.atomic_sectors) * kSectorBytes;
    return std::max(ms(bytes / d_.l2_bytes_per_cycle), busiest_ms(bytes / kFillBytesPerCycle));
  }

  double slots() const {
    double slots = 0;
    for (const uint64_t instructions : c_.instructions) slots += number(instructions);
    return slots;
  }

  double pipe_cycles() const {
    double most = 0;
    for (size_t i = 0; i < kInstructionKinds; ++i)
      if (d_.lanes_per_cycle[i] > 0)
        most = std::max(most, number(c_.instructions[i]) * 32 / d_.lanes_per_cycle[i]);
    return most;
  }

  // A device without units for a type has its ordinary ones.
  double tensor_cycles() const {
    double cycles = 0;
    for (size_t i = 0; i < kTensorTypes; ++i) {
      const double rate = d_.tensor_flops_per_cycle[i] > 0
                              ? d_.tensor_flops_per_cycle[i]
                              : 2 * d_.lanes_per_cycle[static_cast<size_t>(InstructionKind::kFloat64)];
      cycles += number(c_.tensor_flops[i]) / rate;
    }
    return cycles;
  }

  // How long a warp waits for an access of its chain, in the mean. Requests on the way at the same time are
  // waited for together: each far one is taken to be in a wait of its own as long as there are waits, so that
  // near ones beside it make none shorter.
  double wait_cycles() const {
    const double waits = number(c_.waits);
    if (waits == 0) return d_.l2_cycles;
    const double far = std::min(waits, number(c_.served_by_memory));
    const double middle = std::min(waits - far, number(c_.served_by_l2));
    const double near = waits - far - middle;
    const double from_memory = far_share_ * d_.dram_cycles + (1 - far_share_) * d_.l2_cycles;
    return (far * from_memory + middle * d_.l2_cycles + near * d_.l1_cycles) / waits;
  }

  double chain_cycles(const DependenceChain& chain) const {
    return number(chain.accesses) * wait_cycles() + number(chain.cycles);
  }

  // A multiprocessor's blocks follow each other in as many places as it has for them.
  double latency_cycles() const {
    const double rounds = std::max(1.0, blocks_per_multiprocessor_ / occupancy_.blocks);
    const double mean = chain_cycles(c_.chains) / number(std::max<uint64_t>(c_.blocks, 1));
    return std::max(mean * rounds, chain_cycles(c_.longest_chain));
  }

  const LaunchCounters& c_;
  const DeviceTable& d_;
  const Occupancy occupancy_;
  double blocks_per_multiprocessor_ = 0;
  double busiest_share_ = 0;  // of the launch's work
  double far_share_ = 0;      // of distinct sectors read
};

}  // namespace

std::string_view to_string(Bound bound) { return kNames[static_cast<size_t>(bound)]; }

std::string_view bound_family(Bound bound) {
  switch (bound) {
    case Bound::kDram:
    case Bound::kL2:
    case Bound::kL1:
    case Bound::kShared:
    case Bound::kAtomics:
    case Bound::kHost:
      return "memory";
    case Bound::kIssue:
    case Bound::kPipe:
    case Bound::kTensor:
    case Bound::kStarts:
      return "issue";
    case Bound::kLatency:
      return "latency";
  }
  return "";
}

LaunchCost model_launch(const LaunchCounters& launch, const DeviceTable& device) {
  return LaunchModel(launch, device).run();
}

ProgramCost model_program(const std::vector<LaunchCounters>& launches, const DeviceTable& device) {
  ProgramCost program;
  constexpr std::string_view kFamilies[] = {"memory", "issue", "latency"};
  double of_family[std::size(kFamilies)] = {};
  for (const LaunchCounters& launch : launches) {
    const LaunchCost& cost = program.launches.emplace_back(model_launch(launch, device));
    program.modelled_ms += cost.total_ms;
    program.launch_ms += cost.launch_ms;
    for (size_t i = 0; i < std::size(kFamilies); ++i)
      if (kFamilies[i] == bound_family(cost.bound_by)) of_family[i] += cost.total_ms - cost.launch_ms;
  }
  program.bound_by = "launch";
  double most = program.launch_ms;
  for (size_t i = 0; i < std::size(kFamilies); ++i) {
    if (of_family[i] <= most) continue;
    most = of_family[i];
    program.bound_by = kFamilies[i];
  }
  return program;
}

double least_ms(uint64_t bytes, const DeviceTable& device) {
  return static_cast<double>(bytes) / (device.dram_gb_per_s * 1e6);
}

}  // namespace bicrl
