// What an observer of a launch is shown: each access once, with its lanes and places, and who waits for whom.
#include <catch2/catch_test_macros.hpp>

#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/warp_group.h"
#include "tests/ptx/kernel_runner.h"

namespace bicrl::ptx {
namespace {

using testing::fault_text;
using testing::KernelRunner;

struct Seen : Observer {
  int launches = 0, blocks = 0, ended = 0, barriers = 0, warp_barriers = 0, fences = 0, basic_blocks = 0;
  uint64_t before = 0, after = 0, bytes[3][3] = {};  // by Kind; shared, global, local
  void launch_begins(Grid&) override { ++launches; }
  void launch_ends(Grid&) override { ++launches; }
  void block_begins(ThreadBlock&) override { ++blocks; }
  void block_ends(ThreadBlock&) override { ++ended; }
  void basic_block(WarpGroup&, uint32_t) override { ++basic_blocks; }
  void will_access(WarpGroup& warp_group, const Operation&, const Region& region,
                   const LaneAccess& access) override {
    ++before;
    const size_t where = region.local ? 2 : region.space == Space::kShared ? 0 : 1;
    bytes[static_cast<size_t>(access.kind)][where] +=
        uint64_t{access.bytes} * static_cast<uint64_t>(access.lanes.count());
    access.lanes.for_each([&](int lane) {
      CHECK(lane < warp_group.lanes());
      CHECK(access.base + access.offsets[lane] + access.bytes <= region.end - region.begin);
      if (access.kind == LaneAccess::Kind::kWrite) CHECK(access.values[0] != nullptr);
    });
  }
  void did_access(WarpGroup&, const Operation&, const Region&, const LaneAccess&) override { ++after; }
  void fence(WarpGroup&, const Operation& op) override { fences += op.order.releases; }
  void barrier_completed(ThreadBlock&, uint32_t) override { ++barriers; }
  void warp_barrier(WarpGroup&, int, uint32_t lanes) override {
    ++warp_barriers;
    CHECK(lanes == ~uint32_t{0});
  }
};

}  // namespace

TEST_CASE("an observer sees every access, barrier and warp collective") {
  KernelRunner runner(R"(
    extern "C" __global__ void work(const float4* in, float* out, int* count) {
      __shared__ float s[64];
      float4 v = in[blockIdx.x * 64 + threadIdx.x];
      s[threadIdx.x] = v.x + v.y + v.z + v.w;
      __syncthreads();
      if (threadIdx.x < 20) out[blockIdx.x * 20 + threadIdx.x] = s[63 - threadIdx.x];
      __syncwarp();
      __threadfence();
      atomicAdd(count, 1);
    })");
  const uint64_t in = runner.upload(std::vector<float>(4 * 128, 1.0F)), out = runner.reserve(40 * 4);
  const uint64_t count = runner.upload(std::vector<int>(1));
  Seen seen;
  runner.observer = &seen;
  REQUIRE(fault_text(runner.launch("work", {2, 1, 1}, {64, 1, 1}, 0, in, out, count)) == "");
  CHECK(seen.launches == 2);
  CHECK(seen.blocks == 2);
  CHECK(seen.ended == 2);
  CHECK(seen.barriers == 2);
  CHECK(seen.warp_barriers == 4);  // of two warps in each of two blocks
  CHECK(seen.fences == 2);
  CHECK(seen.basic_blocks >= 8);
  CHECK(seen.before == seen.after);
  const auto bytes = [&](LaneAccess::Kind kind, size_t where) {
    return seen.bytes[static_cast<size_t>(kind)][where];
  };
  CHECK(bytes(LaneAccess::Kind::kRead, 1) == 128 * 16);
  CHECK(bytes(LaneAccess::Kind::kWrite, 0) == 128 * 4);
  CHECK(bytes(LaneAccess::Kind::kRead, 0) == 40 * 4);
  CHECK(bytes(LaneAccess::Kind::kWrite, 1) == 40 * 4);
  CHECK(bytes(LaneAccess::Kind::kAtomic, 1) == 128 * 4);
}

}  // namespace bicrl::ptx
