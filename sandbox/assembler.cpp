#include "sandbox/assembler.h"

#include <csignal>
#include <cstring>

#include "common/error.h"
#include "common/files.h"
#include "common/hash.h"
#include "sandbox/box/box.h"
#include "sandbox/box/descriptors.h"
#include "sandbox/box/processor_wait.h"

namespace bicrl {
namespace {

constexpr int kOutputFd = 16;
constexpr size_t kCacheBytes = 64u << 20;
constexpr int kCpu_s = 20;
constexpr uint64_t kMemoryBytes = 2ull << 30, kMostCodeBytes = 64ull << 20;

MachineCode failed(bool infrastructure, const std::string& fault_class, const std::string& reason) {
  return {nullptr, infrastructure, fault_class, reason};
}

}  // namespace

Assembler::Assembler(BoxHost& host, ScratchFolder& scratch, const std::filesystem::path& libraries,
                     const std::string& architecture)
    : host_(host),
      scratch_(scratch),
      library_(libraries / "libnvJitLink.so.13"),
      architecture_(architecture),
      known_(kCacheBytes) {
  if (!std::filesystem::exists(library_))
    throw Error(concat(library_,
                       " is missing, which makes machine code for a GPU. Run `pip install "
                       "nvidia-nvjitlink` in the verifier's Python environment"),
                ExitCode::kUnavailable);
}

MachineCode Assembler::assemble(const std::string& ptx, std::stop_token stop) {
  const std::string key = hash_hex(ptx);
  if (auto known = known_.find(key); known && known->ptx == ptx) return {known->code, false, "", ""};
  const auto text = scratch_.write(ptx);
  const UniqueFd output = make_memfd("machine-code");
  const std::string library = "/assembler/" + library_.filename().string();
  BoxSpec spec;
  spec.argv = {"/assembler/bicrl-assemble", library, "/job/ptx", architecture_, std::to_string(kOutputFd)};
  spec.mounts = {{share_folder() / "gpu" / "bicrl-assemble", "/assembler/bicrl-assemble"},
                 {std::filesystem::canonical(library_), library},
                 {text->path(), "/job/ptx"}};
  spec.fds = {{output.get(), kOutputFd}};
  spec.limits.cpu_s = kCpu_s;
  spec.limits.wall_s = kBusyMachineFactor * kCpu_s;
  spec.limits.memory_bytes = kMemoryBytes;
  spec.limits.file_bytes = kMostCodeBytes;
  const BoxResult box = run_box(host_, spec, stop);
  if (box.succeeded()) {
    const auto code = std::make_shared<const std::string>(read_whole(output.get()));
    known_.insert(key, {ptx, code}, ptx.size() + code->size());
    return {code, false, "", ""};
  }
  switch (box.end) {
    case BoxEnd::kExited:
      if (box.code == 1) return failed(false, "compile", "for " + architecture_ + ": " + box.output);
      if (box.code == 4) return failed(false, "memory", "machine code needs more memory than its limit");
      return failed(true, "", concat("the assembler failed (status ", box.code, ") ", box.output));
    case BoxEnd::kMemory:
      return failed(false, "memory", "machine code needs more memory than its limit");
    case BoxEnd::kTimeout:
      return failed(false, "timeout", concat("machine code takes longer than ", kCpu_s, " s"));
    case BoxEnd::kSignalled:
      if (box.code == SIGKILL) return failed(true, "", "somebody has killed the assembler");
      return failed(false, "compile", concat("the assembler ends in a signal: ", strsignal(box.code)));
    case BoxEnd::kCancelled:
      return failed(true, "", "cancelled");
    case BoxEnd::kOutputLimit:
    case BoxEnd::kBoxFailed:
      return failed(true, "", "the assembler's box: " + box.reason);
  }
  return failed(true, "", "the assembler's box ended in an unknown way");
}

}  // namespace bicrl
