#include "sandbox/gpu/loader/shared_poison.h"

#include "sandbox/interpreter/ptx/execution/device_memory.h"

namespace bicrl::gpu {
namespace {

constexpr uint32_t kThreads = 1024;
// The device keeps a KiB in front of each block's own shared memory. Where that lies depends on what a
// multiprocessor's memory is divided into, so that it is another block's own later: a block of all of it
// leaves a KiB on each, which small blocks reach (bench/gpu_agreement.md).
constexpr uint32_t kReservedBytes = 1 << 10, kSmallBytes = 7 << 10, kSmallThreads = 32, kWaves = 8;
constexpr int kTries = 3;
constexpr auto kLimit = std::chrono::seconds(10);  // other processes may have the device meanwhile

}  // namespace

SharedPoison::SharedPoison(Driver& driver, std::string machine_code)
    : driver_(driver), machine_code_(std::move(machine_code)) {
  kernel_ = driver_.kernel(driver_.load(machine_code_), "poison_shared");
  driver_.allow_shared_bytes(kernel_, driver_.device().max_shared_bytes);
  arrived_ = driver_.allocate(2 * sizeof(uint32_t));
}

void SharedPoison::launch(uint32_t blocks, uint32_t threads, uint32_t bytes, uint32_t arrivals) {
  const struct {
    uint32_t bytes, word;
    DeviceAddress arrived;
    uint32_t blocks;
  } parameters = {bytes, uint32_t{ptx::kPoisonWord} << 16 | ptx::kPoisonWord, arrived_, arrivals};
  constexpr size_t kParameterBytes = 20;  // of the struct, without what stands behind its last member
  driver_.start(kernel_, {.grid = {blocks, 1, 1},
                          .block = {threads, 1, 1},
                          .shared_bytes = bytes,
                          .parameters = {reinterpret_cast<const char*>(&parameters), kParameterBytes}});
}

void SharedPoison::spread() {
  const auto multiprocessors = static_cast<uint32_t>(driver_.device().multiprocessors);
  const uint32_t most = driver_.device().max_shared_bytes;
  const uint32_t beside = (most + kReservedBytes) / (kSmallBytes + kReservedBytes);
  for (int tries = 0; tries < kTries; ++tries) {
    driver_.fill(arrived_, sizeof(uint32_t), 0, 2);
    // A block takes all shared memory of a multiprocessor, so as many blocks as there are, at the same time,
    // meet one each.
    launch(multiprocessors, kThreads, most, multiprocessors);
    launch(kWaves * multiprocessors * beside, kSmallThreads, kSmallBytes, 0);
    driver_.finish(kLimit, "a kernel of the verifier's own");
    uint32_t gave_up = 0;
    driver_.download(&gave_up, arrived_ + sizeof(uint32_t), sizeof gave_up);
    if (gave_up == 0) return;
  }
  throw DriverError(0, "the blocks of a kernel of the verifier's own do not run at the same time");
}

}  // namespace bicrl::gpu
