#include "sandbox/gpu/shared_poison.h"

#include "sandbox/ptx/device_memory.h"

namespace bicrl::gpu {
namespace {

constexpr uint32_t kThreads = 1024;
constexpr auto kLimit = std::chrono::seconds(10);  // other processes may have the device meanwhile

}  // namespace

SharedPoison::SharedPoison(Driver& driver, std::string machine_code)
    : driver_(driver), machine_code_(std::move(machine_code)) {
  kernel_ = driver_.kernel(driver_.load(machine_code_), "poison_shared");
  driver_.allow_shared_bytes(kernel_, driver_.device().max_shared_bytes);
  arrived_ = driver_.allocate(sizeof(uint32_t));
}

// A block takes all shared memory of a multiprocessor, so as many blocks as there are, at the same time, meet
// one each.
void SharedPoison::spread() {
  const auto blocks = static_cast<uint32_t>(driver_.device().multiprocessors);
  const struct {
    uint32_t bytes, word;
    DeviceAddress arrived;
    uint32_t blocks;
  } parameters = {driver_.device().max_shared_bytes, uint32_t{ptx::kPoisonWord} << 16 | ptx::kPoisonWord,
                  arrived_, blocks};
  constexpr size_t kParameterBytes = 20;  // of the struct, without what stands behind its last member
  driver_.fill(arrived_, sizeof(uint32_t), 0, 1);
  Launch launch{.grid = {blocks, 1, 1},
                .block = {kThreads, 1, 1},
                .shared_bytes = driver_.device().max_shared_bytes,
                .parameters = {reinterpret_cast<const char*>(&parameters), kParameterBytes}};
  driver_.start(kernel_, launch);
  driver_.finish(kLimit, "a kernel of the verifier's own");
}

}  // namespace bicrl::gpu
