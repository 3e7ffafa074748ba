#include "sandbox/verifier/stock_evaluator.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "common/clock.h"
#include "common/files/last_lines.h"
#include "common/json.h"
#include "common/log.h"
#include "common/usable_machine.h"
#include "sandbox/box/box_host.h"
#include "sandbox/box/process/descriptor_passing.h"
#include "sandbox/box/process/descriptors.h"
#include "sandbox/gpu/gpu_box.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

using nlohmann::ordered_json;

constexpr const char* kHost = "cpu";
constexpr const char* kToolkitTarget = "/cuda";
constexpr const char* kProtocol = "kernelbench (423217d), trusts the candidate";
constexpr int kSeed = 42;
constexpr double kProbe_s = 180;  // torch is imported, from a disk that may be cold
constexpr int kResultFd = 16, kTurnFd = 17;
constexpr const char *kJob = "job.json", *kReference = "reference.py", *kCandidate = "candidate.py";
constexpr double kLook_s = 0.05;  // at most, until the end of a process is seen
constexpr uint64_t kBuildBytes = 4ull << 30;
constexpr off_t kResultBytes = 1 << 20;
constexpr size_t kOutputBytes = 1u << 20;  // of its stderr

// Of a toolkit that has a compiler: $CUDA_HOME, the one on PATH, the usual place. Empty without.
fs::path find_toolkit() {
  std::vector<fs::path> places;
  if (const char* named = getenv("CUDA_HOME")) places.emplace_back(named);
  if (const std::string compiler = find_program("nvcc"); !compiler.empty())
    places.push_back(fs::canonical(compiler).parent_path().parent_path());
  places.emplace_back("/usr/local/cuda");
  std::error_code none;
  for (const fs::path& place : places)
    if (fs::exists(place / "bin" / "nvcc", none)) return fs::canonical(place);
  return {};
}

// The record of a whole evaluation, or null. A program can write what it likes where the result is read.
const ordered_json* record_in(const ordered_json& content) {
  const auto record = content.find("record");
  if (record == content.end()) return nullptr;
  const auto is = [&](const char* key, auto check) {
    return record->contains(key) && ((*record)[key].*check)();
  };
  for (const char* key : {"compiled", "correctness"})
    if (!is(key, &ordered_json::is_boolean)) return nullptr;
  for (const char* key : {"runtime", "ref_runtime"})
    if (!is(key, &ordered_json::is_number)) return nullptr;
  for (const char* key : {"metadata", "runtime_stats", "ref_runtime_stats"})
    if (!is(key, &ordered_json::is_object)) return nullptr;
  return &*record;
}

// How a process that gave no answer ended, as a key of the metadata and its text.
std::pair<std::string, std::string> cause_of(const BoxResult& box, const StockOptions& options) {
  switch (box.end) {
    case BoxEnd::kTimeout:
      return {"timeout", concat("no end within ", options.timeout_s, " s")};
    case BoxEnd::kMemory:
      return {"memory", concat("needed more than ", options.memory_bytes >> 20, " MiB")};
    case BoxEnd::kOutputLimit:
      return {"output_limit", concat("wrote more than ", kOutputBytes, " bytes to stderr")};
    case BoxEnd::kSignalled:
      return {"process_ended", concat("signal ", box.code, " ", last_lines(box.output))};
    default:
      return {"process_ended",
              concat("exit status ", box.code, " without a result ", last_lines(box.output))};
  }
}

}  // namespace

StockEvaluator::StockEvaluator(BoxHost& host, const PythonInstall& python, const StockOptions& options)
    : host_(host), python_(python), options_(options) {
  const bool on_gpu = options_.device != kHost;
  const auto refuse = [](const std::string& why) {
    throw Error(concat("KernelBench's own protocol cannot run here: ", why), ExitCode::kUnavailable);
  };
  if (on_gpu) {
    library_ = find_driver_library();
    if (library_.empty()) refuse(no_driver());
    toolkit_ = find_toolkit();
    if (toolkit_.empty()) refuse("there is no CUDA toolkit with nvcc ($CUDA_HOME, PATH, /usr/local/cuda)");
  }
  const Answer answer = run("probe", "", "", {});
  if (answer.box.end == BoxEnd::kBoxFailed) refuse(answer.box.reason);
  if (answer.content.contains("error")) refuse(answer.content["error"]);
  if (!answer.content.contains("hardware")) refuse(cause_of(answer.box, options_).second);
  hardware_ = answer.content["hardware"];
  device_ = answer.content["device"];
  architectures_ = answer.content["architectures"];
  lease_ = std::make_unique<DeviceLease>(on_gpu ? answer.content["bus"].get<std::string>() : kHost);
  compilers_ = std::make_unique<DeviceLease>("compilers");
  if (!lease_->problem().empty())
    log_warning("other servers of this host are not known of, and may work while programs are timed: ",
                lease_->problem());
}

BoxSpec StockEvaluator::box() const {
  BoxSpec spec = torch_box(library_, python_, "stock_protocol.py", {}, options_.memory_bytes);
  // Last wins: ninja may lie beside the interpreter.
  std::string path = concat(fs::path(python_.interpreter).parent_path().string(), ":/usr/bin:/bin");
  if (!toolkit_.empty()) {
    const bool in_root = toolkit_ == "/usr";  // a distribution's package, which the box shows as it is
    if (!in_root) spec.mounts.push_back({toolkit_, kToolkitTarget});
    const std::string home = in_root ? "/usr" : kToolkitTarget;
    spec.env.push_back(concat("CUDA_HOME=", home));
    path = concat(home, "/bin:", path);
  }
  spec.env.push_back(concat("PATH=", path));
  spec.env.push_back(concat("TORCH_EXTENSIONS_DIR=", spec.work_folder, "/extensions"));
  spec.env.push_back("TORCH_USE_CUDA_DSA=1");
  const double cores = usable_cpus() / std::max(1, options_.build_jobs);
  spec.env.push_back(concat("MAX_JOBS=", std::max(1, static_cast<int>(cores))));
  if (!architectures_.empty()) spec.env.push_back(concat("TORCH_CUDA_ARCH_LIST=", architectures_));
  spec.work_bytes = kBuildBytes;
  spec.limits.output_bytes = kOutputBytes;
  return spec;
}

StockEvaluator::Answer StockEvaluator::run(const char* mode, const std::string& reference,
                                           const std::string& program, std::stop_token stop) {
  const bool builds = mode == std::string("evaluate");
  BoxSpec spec = box();
  const auto in_work = [&](const char* name) { return spec.work_folder + "/" + name; };
  const std::string job = ordered_json{
      {"mode", mode},
      {"device", options_.device},
      {"precision", options_.precision},
      {"tolerance", options_.tolerance},
      {"seed", kSeed},
      {"correctness_trials", options_.correctness_trials},
      {"timing_trials", options_.timing_trials},
      {"reference", in_work(kReference)},
      {"candidate", in_work(kCandidate)},
      {"result", kResultFd},
      {"turn", kTurnFd}}.dump();
  spec.argv.push_back(in_work(kJob));
  spec.files = {{in_work(kJob), job}, {in_work(kReference), reference}, {in_work(kCandidate), program}};
  const UniqueFd result = make_memfd("result");
  spec.fds = {{result.get(), kResultFd}};
  Answer answer;
  if (builds) {
    const FdPair turn = make_packet_pair();
    spec.fds.emplace_back(turn.theirs.get(), kTurnFd);
    attend(spec, turn.ours.get(), std::move(stop), answer.box);
  } else {
    spec.limits.wall_s = lease_ ? options_.timeout_s : kProbe_s;
    Alone alone;
    if (lease_ && !(alone = take(stop)).device) {
      answer.box.end = BoxEnd::kCancelled;
      return answer;
    }
    answer.box = run_box(host_, spec, stop);
  }
  struct stat info {};
  if (fstat(result.get(), &info) != 0 || info.st_size > kResultBytes) return answer;
  const std::string reply = read_whole(result.get());
  if (is_too_deep_json(reply)) return answer;
  ordered_json content = ordered_json::parse(reply, nullptr, /*allow_exceptions=*/false);
  if (content.is_object()) answer.content = std::move(content);
  return answer;
}

StockEvaluator::Alone StockEvaluator::take(const std::stop_token& stop) {
  Alone alone;
  alone.quiet = compilers_->take(stop);
  if (alone.quiet) alone.device = lease_->take(stop);
  return alone;
}

// From start to end; its process asks for its turn once the program is built. Waiting for it is nobody's
// time.
void StockEvaluator::attend(const BoxSpec& spec, int turn, std::stop_token stop, BoxResult& box) {
  DeviceLease::Hold compiling = compilers_->share(stop);
  if (!compiling) {
    box.end = BoxEnd::kCancelled;
    return;
  }
  std::atomic<bool> ended = false;
  std::jthread process([&](const std::stop_token& end) {
    try {
      box = run_box(host_, spec, end);
    } catch (const std::exception& error) {
      box.end = BoxEnd::kBoxFailed;
      box.reason = error.what();
    }
    ended = true;
  });
  const auto until = [&](const auto& happened) {
    const Stopwatch clock;
    while (!ended && !happened() && !stop.stop_requested() && clock.seconds() < options_.timeout_s)
      ;
    return ended || happened();
  };
  const auto asks = [&] { return wait_readable(turn, kLook_s, stop); };
  const auto waits = [&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(kLook_s));
    return false;
  };
  const auto finish = [&] {
    process.request_stop();
    if (process.joinable()) process.join();
  };
  bool in_time = until(asks);
  if (!in_time) finish();  // its compilers are gone before anybody times
  compiling.release();
  Alone alone;
  if (in_time && !ended && (alone = take(stop)).device) {
    if (write(turn, "g", 1) != 1) log_warning("a program's process has closed its channel");
    in_time = until(waits);
  }
  finish();  // before anybody else has the device
  if (!in_time && !stop.stop_requested()) box.end = BoxEnd::kTimeout;
}

Result<ordered_json> StockEvaluator::time_reference(const std::string& reference, std::stop_token stop) {
  using Reply = Result<ordered_json>;
  Answer answer = run("baseline", reference, "", stop);
  if (answer.content.contains("stats")) return Reply(std::move(answer.content["stats"]));
  if (answer.content.contains("error")) return Reply::failure(answer.content["error"].get<std::string>());
  return Reply::failure(answer.box.end == BoxEnd::kBoxFailed ? answer.box.reason
                                                             : cause_of(answer.box, options_).second);
}

Result<ordered_json> StockEvaluator::evaluate(const std::string& reference, const std::string& program,
                                              std::stop_token stop) {
  using Reply = Result<ordered_json>;
  const Answer answer = run("evaluate", reference, program, stop);
  // A whole evaluation stands, whatever became of the compilers that were killed before it.
  const ordered_json* const whole = record_in(answer.content);
  const bool stands = whole && (*whole)["compiled"];
  if (answer.box.end == BoxEnd::kBoxFailed && !stands) return Reply::failure(answer.box.reason);
  if (answer.box.end == BoxEnd::kCancelled) return Reply::failure("cancelled");
  return Reply(record_of(answer));
}

ordered_json StockEvaluator::record_of(const Answer& answer) const {
  ordered_json record{{"compiled", false},
                      {"correctness", false},
                      {"metadata", ordered_json::object()},
                      {"runtime", -1.0},
                      {"runtime_stats", ordered_json::object()},
                      {"ref_runtime", -1.0},
                      {"ref_runtime_stats", ordered_json::object()}};
  ordered_json metadata{{"protocol", kProtocol},
                        {"hardware", hardware_},
                        {"device", device_},
                        {"precision", options_.precision},
                        {"clock", options_.device == kHost ? "host" : "CUDA events"}};
  if (const ordered_json* const whole = record_in(answer.content)) {
    record.update(*whole);
    metadata.update(record["metadata"]);
    // A compiler that was ended for it says only that it was ended.
    if (answer.box.end == BoxEnd::kMemory && answer.content.value("starved", ordered_json()) == true)
      metadata["memory"] = cause_of(answer.box, options_).second;
  } else {
    record["compiled"] = answer.content.contains("stage") && answer.content["stage"] == "run";
    const auto [key, text] = cause_of(answer.box, options_);
    metadata[key] = text;
  }
  record["metadata"] = std::move(metadata);
  return record;
}

}  // namespace bicrl
