#include "sandbox/gpu/assembler.h"

#include <csignal>
#include <cstring>

#include "common/error.h"
#include "common/files/files.h"
#include "common/hash.h"
#include "sandbox/box/process/processor_wait.h"

namespace bicrl {
namespace {

constexpr size_t kCacheBytes = 64u << 20;
constexpr int kCpu_s = 20;
constexpr uint64_t kMemoryBytes = 2ull << 30, kMostCodeBytes = 64ull << 20;
constexpr size_t kMaxAssemblerBytes = 4000;
constexpr int kOutOfMemoryStatus = 4;  // of bicrl-assemble

MachineCode failed(FaultClass fault_class, const std::string& reason) {
  return {nullptr, Fault::of_program(fault_class, reason)};
}

MachineCode assembler_lost(const std::string& reason) { return {nullptr, Fault::infrastructure(reason)}; }

const MachineCode kAssemblerNonsense =
    failed(FaultClass::kCompile, "the assembly of this text gave no sound answer");

MachineCode assembler_out_of_memory() {
  return failed(FaultClass::kMemory, "machine code needs more memory than its limit");
}

std::filesystem::path find_library(const std::filesystem::path& libraries) {
  const auto library = libraries / "libnvJitLink.so.13";
  if (!std::filesystem::exists(library))
    throw Error(concat(library,
                       " is missing, which makes machine code for a GPU. Run `pip install "
                       "nvidia-nvjitlink` in the verifier's Python environment"),
                ExitCode::kUnavailable);
  return library;
}

ZygoteSpec assembler_spec(const std::filesystem::path& library, const std::string& architecture) {
  const std::string target = "/assembler/" + library.filename().string();
  ZygoteSpec spec;
  spec.name = "assembler";
  spec.mounts = {{share_folder() / "gpu" / "bicrl-assemble", "/assembler/bicrl-assemble"},
                 {std::filesystem::canonical(library), target}};
  spec.program = {.argv = {"/assembler/bicrl-assemble", target, architecture}};
  return spec;
}

ChildLimits limits_of_a_text() {
  ChildLimits limits;
  limits.cpu_s = kCpu_s;
  limits.wall_s = kBusyMachineFactor * kCpu_s;
  limits.memory_bytes = kMemoryBytes;
  limits.file_bytes = limits.tmp_bytes = kMostCodeBytes;
  limits.frames.blob_bytes = kMostCodeBytes;
  return limits;
}

}  // namespace

Assembler::Assembler(BoxHost& host, const PythonInstall& python, const std::filesystem::path& libraries,
                     const std::string& architecture)
    : architecture_(architecture),
      zygote_(host, python, assembler_spec(find_library(libraries), architecture)),
      known_(kCacheBytes) {}

// It reads hostile text and may have been taken over by it: nothing it says is infrastructure.
MachineCode Assembler::assemble(const std::string& ptx, std::stop_token stop) {
  const std::string key = hash_hex(ptx);
  if (auto known = known_.find(key); known && known->ptx == ptx) return {known->code, {}};
  auto child = zygote_.fork(limits_of_a_text(), stop);
  if (!child) return assembler_lost("the assembler's box: " + child.reason());
  std::optional<Frame> answer;
  if (child.value()->send({{"kind", "assemble"}}, {ptx}, stop)) answer = child.value()->receive(stop);
  if (!answer) return read_end(child.value()->finish());
  zygote_.dismiss(std::move(child.value()));
  const auto ok = answer->header.find("ok");
  if (answer->blobs.size() != 1 || ok == answer->header.end() || !ok->is_boolean()) return kAssemblerNonsense;
  std::string& blob = answer->blobs.front();
  if (!ok->get<bool>())
    return failed(FaultClass::kCompile, "for " + architecture_ + ": " + blob.substr(0, kMaxAssemblerBytes));
  const auto code = std::make_shared<const std::string>(std::move(blob));
  known_.insert(key, {ptx, code}, ptx.size() + code->size());
  return {code, {}};
}

// How a child ended that owes an answer.
MachineCode Assembler::read_end(const ChildResult& end) const {
  switch (end.end) {
    case ChildEnd::kMemory:
      return assembler_out_of_memory();
    case ChildEnd::kTimeout:
      return failed(FaultClass::kTimeout, concat("machine code takes longer than ", kCpu_s, " s"));
    case ChildEnd::kExited:
      return end.code == kOutOfMemoryStatus ? assembler_out_of_memory() : kAssemblerNonsense;
    case ChildEnd::kSignalled:
      if (end.code == SIGKILL) return assembler_lost("somebody has killed the assembler");
      return failed(FaultClass::kCompile, concat("the assembler ends in a signal: ", strsignal(end.code)));
    case ChildEnd::kBadFrame:
    case ChildEnd::kOutputLimit:
      return kAssemblerNonsense;
    case ChildEnd::kCancelled:
      return assembler_lost("cancelled");
    case ChildEnd::kBoxFailed:
      break;
  }
  return assembler_lost("the assembler's box: " + end.reason);
}

}  // namespace bicrl
