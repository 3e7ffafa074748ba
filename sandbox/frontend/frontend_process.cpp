#include "sandbox/frontend/frontend_process.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/error.h"
#include "sandbox/frontend/device/device_headers.h"

namespace bicrl {
namespace {

constexpr size_t kMaxPtxBytes = size_t{32} << 20;
constexpr double kFrontendPatience_s = 60;
constexpr size_t kMaxClaimBytes = 2000;

// What a child may say of its text. It reads hostile text and may have been taken over by it.
constexpr std::array kClaimableOfFrontend = {FaultClass::kLibraryCall, FaultClass::kUnsupported,
                                             FaultClass::kCompile, FaultClass::kExtract, FaultClass::kMemory};

FaultClass claimed_class(const nlohmann::json& said) {
  const auto claimed = find_fault_class(said.value("class", ""));
  return claimed && std::ranges::find(kClaimableOfFrontend, *claimed) != kClaimableOfFrontend.end()
             ? *claimed
             : FaultClass::kCompile;
}

std::string claimed_reason(const nlohmann::json& said) {
  return said.value("reason", "").substr(0, kMaxClaimBytes);
}

const Fault kNonsense =
    Fault::of_program(FaultClass::kCompile, "the compilation of this text gave no sound answer");

SplitProgram read_split(const nlohmann::json& said) {
  SplitProgram split;
  for (const auto& issue : said.at("issues"))
    split.issues.push_back({claimed_class(issue), claimed_reason(issue), issue.at("line").get<int>()});
  for (const auto& unit : said.at("units"))
    split.units.push_back({unit.at("file_name").get<std::string>(), unit.at("text").get<std::string>()});
  return split;
}

// The compiler's command line and its box's files are made of these names.
bool has_plain_names(const SplitProgram& split) {
  return split.units.size() <= 4 &&
         std::all_of(split.units.begin(), split.units.end(), [](const TranslationUnit& unit) {
           return unit.file_name.size() < 40 && unit.file_name.ends_with(".cpp") &&
                  std::all_of(unit.file_name.begin(), unit.file_name.end() - 4,
                              [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); });
         });
}

// Words of expensive headers in the text: precompiled once, they cost later texts a tenth.
std::vector<std::string> header_words(const CudaProgram& program) {
  std::vector<std::string> words;
  for (const CommonIncludes& common : common_includes())
    if (!common.word.empty() &&
        std::any_of(program.cuda_sources.begin(), program.cuda_sources.end(),
                    [&](const std::string& text) { return text.find(common.word) != std::string::npos; }))
      words.push_back(common.word);
  return words;
}

}  // namespace

FrontendProcess::FrontendProcess(BoxHost& host, const PythonInstall& python, const DeviceToolchain& toolchain,
                                 const FrontendOptions& options)
    : options_(options),
      zygote_(host, python,
              {"frontend",
               "frontend",
               "run",
               {},
               {{toolchain.libraries, "/nvrtc"}},
               {{toolchain.shim, "/shim"}, {toolchain.headers, "/cuda"}}}) {}

// An architecture once: with a wish there is no spare child.
std::vector<std::string> FrontendProcess::wishes(const CudaProgram& program,
                                                 const std::string& architecture) {
  std::vector<std::string> words = header_words(program);
  if (architecture.empty()) return words;
  const std::lock_guard lock(mutex_);
  if (std::exchange(known_architectures_[architecture], zygote_.starts()) != zygote_.starts())
    words.push_back(architecture);
  return words;
}

Result<FrontendJob> FrontendProcess::begin(const CudaProgram& program, bool device_code, std::stop_token stop,
                                           const std::string& architecture) {
  ChildLimits limits;
  limits.wall_s = options_.wall_s;
  limits.cpu_s = options_.cpu_s;
  limits.memory_bytes = options_.memory_bytes;
  // NVRTC takes up to 256 MiB of its memory as a private map of a file, whose pages are made when they are
  // first read.
  limits.tmp_bytes = 512u << 20;
  limits.file_bytes = 512u << 20;
  limits.threads = 4;
  limits.frames.blob_bytes = kMaxPtxBytes;
  nlohmann::json request{{"kind", "frontend"}, {"device", device_code}, {"architecture", architecture}};
  write_cuda_program(program, request);
  auto child =
      zygote_.fork(limits, stop, kFrontendPatience_s, wishes(program, device_code ? architecture : ""));
  if (!child) return Result<FrontendJob>::failure(child.reason());
  // One that died already is met when it owes its answer.
  child.value()->send(request, {}, stop);
  return FrontendJob(std::move(child.value()));
}

void FrontendProcess::dismiss(FrontendJob job) {
  if (job.child_) zygote_.dismiss(std::move(job.child_));
}

FrontendSplit FrontendJob::split(std::stop_token stop) {
  FrontendSplit split;
  const auto frame = child_->receive(stop);
  if (!frame) {
    split.fault = end();
    return split;
  }
  try {
    split.program = read_split(frame->header);
    if (!has_plain_names(split.program)) split.fault = kNonsense;
  } catch (const nlohmann::json::exception&) {
    split.fault = kNonsense;
  }
  return split;
}

FrontendDevice FrontendJob::device(std::stop_token stop) {
  FrontendDevice device;
  auto frame = child_ ? child_->receive(stop) : std::nullopt;
  if (!frame) {
    device.fault = end();
    device.ended = true;
    return device;
  }
  try {
    if (!frame->header.at("ok").get<bool>()) {
      device.fault = Fault::of_program(claimed_class(frame->header), claimed_reason(frame->header));
    } else if (frame->blobs.size() != 1) {
      device.fault = kNonsense;
    } else {
      device.cut = frame->header.at("cut").get<bool>();
      device.ptx = std::move(frame->blobs.front());
    }
  } catch (const nlohmann::json::exception&) {
    device.fault = kNonsense;
  }
  return device;
}

std::optional<std::map<std::string, KernelResources>> FrontendJob::resources(std::stop_token stop) {
  const auto frame = child_ ? child_->receive(stop) : std::nullopt;
  if (!frame) return std::nullopt;
  std::map<std::string, KernelResources> resources;
  try {
    for (const auto& [entry, needs] : frame->header.at("resources").items())
      resources[entry] = {needs.at(0).get<uint32_t>(), needs.at(1).get<uint32_t>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return resources;
}

// How a child ended that owes an answer.
Fault FrontendJob::end() {
  if (!child_) return kNonsense;
  const ChildResult end = child_->finish();
  child_.reset();
  switch (end.end) {
    case ChildEnd::kTimeout:
      return Fault::of_program(FaultClass::kTimeout,
                               "the compilation of the device code takes longer than its limit");
    case ChildEnd::kMemory:
      return Fault::of_program(FaultClass::kMemory,
                               "the device code needs more memory to compile than its limit");
    case ChildEnd::kSignalled:
      return Fault::of_program(FaultClass::kCompile,
                               concat("the device compiler crashed (signal ", end.code, ")"));
    case ChildEnd::kExited:
      if (end.output.find("MemoryError") != std::string::npos)
        return Fault::of_program(FaultClass::kMemory,
                                 "the device code needs more memory to compile than its limit");
      return kNonsense;
    case ChildEnd::kBadFrame:
    case ChildEnd::kOutputLimit:
      return kNonsense;
    case ChildEnd::kCancelled:
    case ChildEnd::kBoxFailed:
      break;
  }
  return Fault::infrastructure(end.end == ChildEnd::kCancelled ? "cancelled"
                                                               : "front-end box: " + end.reason);
}

}  // namespace bicrl
