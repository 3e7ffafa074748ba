// The model as a function: more of anything never costs less, and the bits are the same everywhere.
#include "sandbox/cost/cost_model.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

namespace bicrl {
namespace {

// A launch of which every number is drawn, within what the machine could count.
LaunchCounters random_launch(std::mt19937_64& random) {
  const auto draw = [&](int bits) {
    return random() % (uint64_t{1} << (random() % static_cast<unsigned>(bits)));
  };
  LaunchCounters c;
  c.name = "kernel";
  c.blocks = 1 + draw(17);
  c.threads_per_block = 1 + random() % 1024;
  c.shared_bytes_per_block = draw(15);
  c.registers_per_thread = random() % 65;
  const uint64_t warps = c.blocks * ((c.threads_per_block + 31) / 32);
  for (uint64_t& of_kind : c.instructions) of_kind = warps * draw(8);
  for (uint64_t& flops : c.tensor_flops) flops = warps * draw(12);
  c.load_requests = warps * draw(6);
  c.load_sectors = c.load_requests * (1 + random() % 32);
  c.l1_wavefronts = c.load_requests * (1 + random() % 32);
  c.l2_load_sectors = c.load_sectors / (1 + random() % 4);
  c.served_by_l2 = c.load_requests / 2;
  c.served_by_memory = c.load_requests - c.served_by_l2;
  c.cold_sectors = c.l2_load_sectors / (1 + random() % 8);
  c.store_requests = warps * draw(3);
  c.store_sectors = c.written_sectors = c.store_requests * (1 + random() % 32);
  c.shared_requests = warps * draw(6);
  c.shared_wavefronts = c.shared_requests * (1 + random() % 32);
  c.global_atomics = warps * draw(3);
  c.hottest_atomics = c.global_atomics / (1 + random() % 1000);
  c.chains = {c.blocks * draw(6), c.blocks * draw(10)};
  c.waits = c.chains.accesses * ((c.threads_per_block + 31) / 32);
  c.longest_chain = {c.chains.accesses / c.blocks * 2, c.chains.cycles / c.blocks * 2};
  return c;
}

// Twice as many of the same blocks.
LaunchCounters doubled(LaunchCounters c) {
  c.blocks *= 2;
  for (auto* numbers : {&c.load_requests,  &c.store_requests,  &c.load_sectors,
                        &c.store_sectors,  &c.l2_load_sectors, &c.atomic_sectors,
                        &c.served_by_l1,   &c.served_by_l2,    &c.served_by_memory,
                        &c.cold_sectors,   &c.written_sectors, &c.local_sectors,
                        &c.l1_wavefronts,  &c.shared_requests, &c.shared_wavefronts,
                        &c.global_atomics, &c.hottest_atomics, &c.shared_atomic_passes,
                        &c.uploaded_bytes, &c.chains.accesses, &c.waits,
                        &c.chains.cycles})
    *numbers *= 2;
  for (uint64_t& of_kind : c.instructions) of_kind *= 2;
  for (uint64_t& flops : c.tensor_flops) flops *= 2;
  return c;
}

double total(const LaunchCounters& c, const DeviceTable& device) { return model_launch(c, device).total_ms; }

}  // namespace

TEST_CASE("more of anything never costs less, on every device") {
  std::mt19937_64 random(7);
  for (const DeviceTable& device : device_tables())
    for (int round = 0; round < 300; ++round) {
      const LaunchCounters c = random_launch(random);
      const double before = total(c, device);
      CHECK(total(doubled(c), device) >= before);
      uint64_t LaunchCounters::*const more[] = {
          &LaunchCounters::store_sectors,   &LaunchCounters::l1_wavefronts,
          &LaunchCounters::l2_load_sectors, &LaunchCounters::cold_sectors,
          &LaunchCounters::written_sectors, &LaunchCounters::shared_wavefronts,
          &LaunchCounters::hottest_atomics, &LaunchCounters::shared_atomic_passes,
          &LaunchCounters::uploaded_bytes,  &LaunchCounters::local_sectors,
          &LaunchCounters::atomic_sectors};
      for (const auto member : more) {
        LaunchCounters larger = c;
        larger.*member = larger.*member * 2 + 1000;
        CHECK(total(larger, device) >= before);
      }
      LaunchCounters larger = c;
      larger.instructions[static_cast<size_t>(InstructionKind::kFloat32)] += 1000;
      larger.chains.accesses += larger.blocks;
      CHECK(total(larger, device) > before);
      larger = c;
      larger.registers_per_thread = 255;
      CHECK(total(larger, device) >= before);
      larger = c;
      larger.shared_bytes_per_block = 96 * 1024;
      CHECK(total(larger, device) >= before);
    }
}

TEST_CASE("no launch beats the memory's bandwidth for what it touches for the first time") {
  std::mt19937_64 random(8);
  for (const DeviceTable& device : device_tables())
    for (int round = 0; round < 300; ++round) {
      const LaunchCounters c = random_launch(random);
      CHECK(total(c, device) > least_ms((c.cold_sectors + c.written_sectors) * kSectorBytes, device));
    }
}

TEST_CASE("a launch costs something, and so does each further one") {
  const DeviceTable& device = *find_device_table("h100");
  LaunchCounters empty;
  empty.blocks = 1;
  empty.threads_per_block = 32;
  const double one = model_program({empty}, device).modelled_ms;
  CHECK(one >= device.launch_us / 1000);
  CHECK(model_program({empty, empty}, device).modelled_ms >= 2 * one);
  CHECK(model_program({empty, empty}, device).bound_by == "launch");
  // Two halves of the work in two launches cost more than all of it in one.
  const uint64_t bytes = uint64_t{64} << 20;
  const LaunchCounters whole = streaming_launch(LaunchCounters::Kind::kCopy, bytes, bytes);
  const LaunchCounters half = streaming_launch(LaunchCounters::Kind::kCopy, bytes / 2, bytes / 2);
  CHECK(model_program({half, half}, device).modelled_ms > model_program({whole}, device).modelled_ms);
}

TEST_CASE("a large copy has about nine tenths of the memory's bandwidth") {
  const uint64_t bytes = uint64_t{256} << 20;
  const LaunchCounters copy = streaming_launch(LaunchCounters::Kind::kCopy, bytes, bytes);
  for (const DeviceTable& device : device_tables()) {
    const LaunchCost cost = model_launch(copy, device);
    CHECK(cost.bound_by == Bound::kDram);
    const double least = least_ms(2 * bytes, device);
    INFO(device.name << " " << cost.total_ms << " against " << least);
    CHECK(cost.total_ms * 0.85 < least);
    CHECK(cost.total_ms * 0.97 > least);
  }
}

// bench/measured_times.md: 190,651 blocks of two warps took 120.3 us on an H100, an empty kernel 4.8.
TEST_CASE("blocks begin one after the other, however little each does") {
  LaunchCounters small;
  small.blocks = 190'651;
  small.threads_per_block = 64;
  small.instructions[static_cast<size_t>(InstructionKind::kInteger)] = 2 * small.blocks;
  const LaunchCost cost = model_launch(small, *find_device_table("h100"));
  CHECK(cost.bound_by == Bound::kStarts);
  CHECK(std::abs(cost.total_ms - cost.launch_ms - 0.1155) < 0.002);
  // Those of a copy go round.
  const uint64_t bytes = uint64_t{256} << 20;
  const LaunchCost copy =
      model_launch(streaming_launch(LaunchCounters::Kind::kCopy, bytes, bytes), *find_device_table("h100"));
  CHECK(copy.parts_ms[static_cast<size_t>(Bound::kStarts)] == 0);
}

TEST_CASE("three MiB are enough for a launch on an L4 to take no more than a fifth of the time") {
  const DeviceTable& device = *find_device_table("l4");
  const uint64_t half = 3 << 19;
  const LaunchCost cost = model_launch(streaming_launch(LaunchCounters::Kind::kCopy, half, half), device);
  CHECK(cost.launch_ms <= 0.2 * cost.total_ms);
  CHECK(cost.bound_by == Bound::kDram);
}

TEST_CASE("what an earlier launch left in L2 is not read from memory again") {
  const DeviceTable& device = *find_device_table("h100");
  const uint64_t bytes = uint64_t{16} << 20, sectors = bytes / kSectorBytes;
  LaunchCounters near = streaming_launch(LaunchCounters::Kind::kCopy, bytes, bytes);
  near.cold_sectors = 0;
  LaunchCounters far = near;
  near.reused_sectors[4] = sectors;                 // within 16 MiB
  far.reused_sectors[kReuseClasses - 1] = sectors;  // farther than any L2 is large
  const LaunchCounters cold = streaming_launch(LaunchCounters::Kind::kCopy, bytes, bytes);
  CHECK(total(near, device) < total(cold, device));
  CHECK(total(far, device) == total(cold, device));
}

TEST_CASE("the modelled time is the same to the bit on every machine") {
  LaunchCounters c = streaming_launch(LaunchCounters::Kind::kKernel, 123456789, 98765432);
  c.shared_wavefronts = 1234567;
  c.registers_per_thread = 37;
  c.instructions[static_cast<size_t>(InstructionKind::kSpecial)] = 7654321;
  uint64_t bits = 0;
  for (const DeviceTable& device : device_tables()) {
    bits = bits * 31 + std::bit_cast<uint64_t>(model_program({c, c}, device).modelled_ms);
    if (device.name == "rtx4090") CHECK(bits == 0xacb4d1440622d8bbULL);
  }
  CHECK(bits == 0x29de840b087624edULL);
}

TEST_CASE("occupancy is what NVIDIA's calculator says") {
  // Worked by hand from the tables of the programming guide.
  struct Case {
    std::string_view device;
    uint64_t threads, registers, shared_bytes;
    uint32_t blocks;
    std::string_view limited_by;
  };
  const Case cases[] = {
      {"h100", 256, 32, 0, 8, "warps"},
      {"h100", 256, 33, 0, 6, "registers"},  // 40 after rounding: 1280 a warp, 12 a scheduler
      {"h100", 256, 255, 0, 1, "registers"},
      {"h100", 32, 16, 0, 32, "blocks"},
      {"h100", 128, 32, 48 * 1024, 4, "shared memory"},
      {"a100", 128, 32, 48 * 1024, 3, "shared memory"},
      {"rtx4090", 1024, 32, 0, 1, "warps"},
      {"rtx4090", 256, 0, 0, 6, "warps"},
      {"rtx4090", 32, 0, 0, 24, "blocks"},
      {"l4", 256, 32, 0, 6, "warps"}};
  for (const Case& one : cases) {
    LaunchCounters c;
    c.threads_per_block = one.threads;
    c.registers_per_thread = one.registers;
    c.shared_bytes_per_block = one.shared_bytes;
    const Occupancy occupancy = occupancy_of(c, *find_device_table(one.device));
    INFO(one.device << " " << one.threads << " " << one.registers << " " << one.shared_bytes);
    CHECK(occupancy.blocks == one.blocks);
    CHECK(occupancy.limited_by == one.limited_by);
  }
}

TEST_CASE("a grid so many times as large has so many times the counters, but not of a block") {
  LaunchCounters launch = streaming_launch(LaunchCounters::Kind::kKernel, 1 << 20, 1 << 20);
  launch.hottest_atomics = 7;
  launch.registers_per_thread = 40;
  launch.reused_sectors[0] = 5, launch.reused_sectors[kReuseClasses - 1] = 6;
  launch.lines = {{3, 10, 20, 30}};
  CHECK(repeated(launch, 1) == launch);
  const LaunchCounters larger = repeated(launch, 8);
  CHECK(larger.blocks == 8 * launch.blocks);
  CHECK(larger.instructions[9] == 8 * launch.instructions[9]);
  CHECK(larger.chains.accesses == 8 * launch.chains.accesses);
  CHECK(larger.longest_chain == launch.longest_chain);
  CHECK(larger.hottest_atomics == 56);
  CHECK(larger.registers_per_thread == 40);
  CHECK(larger.threads_per_block == launch.threads_per_block);
  CHECK(larger.lines == std::vector<LineCounters>{{3, 80, 160, 240}});
  CHECK(larger.reused_sectors[3] == 40);
  CHECK(larger.reused_sectors[kReuseClasses - 1] == 48);
  CHECK(larger.distinct_read_sectors() == 8 * launch.distinct_read_sectors());
  const LaunchCounters longer = repeated(launch, 8, Growth::kWorkOfBlocks);
  CHECK(longer.blocks == launch.blocks);
  CHECK(longer.longest_chain.cycles == 8 * launch.longest_chain.cycles);
  CHECK(longer.instructions == larger.instructions);
  // One of that size moves as much; only what was rounded up to whole blocks differs.
  const LaunchCounters direct = streaming_launch(LaunchCounters::Kind::kKernel, 8 << 20, 8 << 20);
  LaunchCounters plain = streaming_launch(LaunchCounters::Kind::kKernel, 1 << 20, 1 << 20);
  CHECK(repeated(plain, 8) == direct);
}

TEST_CASE("counters survive their way through JSON") {
  std::mt19937_64 random(9);
  for (int round = 0; round < 50; ++round) {
    LaunchCounters c = random_launch(random);
    c.lines = {{12, 34, 56, 78}};
    c.reused_sectors[3] = 5;
    c.kind = LaunchCounters::Kind::kCopy;
    CHECK(launch_counters_from_json(nlohmann::json::parse(to_json(c).dump())) == c);
  }
}

}  // namespace bicrl
