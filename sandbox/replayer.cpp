#include "sandbox/replayer.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/error.h"
#include "common/files.h"
#include "common/hash.h"
#include "sandbox/box/box.h"
#include "sandbox/box/unique_fd.h"
#include "sandbox/oracle.h"

namespace bicrl {
namespace {

constexpr int kOutputFd = 16, kControlFd = 17;
constexpr size_t kMaxControlBytes = 1u << 20;

std::string read_all(int fd, size_t limit) {
  struct stat info;
  if (fstat(fd, &info) != 0) return {};
  std::string bytes(std::min(limit, static_cast<size_t>(info.st_size)), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

// Poisoned before the box exists: what a candidate does not write is not zero, and not what another one
// wrote.
UniqueFd poisoned_memfd(uint64_t bytes, uint8_t poison) {
  UniqueFd fd = make_memfd("outputs");
  if (bytes == 0) return fd;
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    throw Error(concat("output memory: ", strerror(errno)));
  void* where = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (where == MAP_FAILED) throw Error(concat("output memory: ", strerror(errno)));
  memset(where, poison, bytes);
  munmap(where, bytes);
  return fd;
}

// Empty for "ok", else the class of a trial's status.
std::string class_of(const std::string& status) {
  if (status == "ok") return {};
  if (status == "launch" || status == "timeout" || status == "illegal_access" || status == "memory" ||
      status == "process" || status == "output_limit" || status == "unsupported" || status == "cheating" ||
      status == "nondeterministic")
    return status;
  return "illegal_access";  // "fault": ended without having finished
}

void set_end(const BoxResult& box, ReplayResult& result) {
  const auto fault = [&](const char* fault_class, const std::string& reason) {
    result.fault_class = fault_class;
    result.reason = reason;
  };
  switch (box.end) {
    case BoxEnd::kExited:
      if (box.code == 0) return;
      result.infrastructure = true;
      result.reason = concat("the replay program failed (status ", box.code, ") ", box.output.substr(0, 400));
      return;
    case BoxEnd::kSignalled:
      // Its own process never runs candidate code, so somebody in the box ended it.
      return fault("cheating", concat("ended the process that replays it (", strsignal(box.code), ")"));
    case BoxEnd::kTimeout:
      return fault("timeout", "the kernels did not finish in time");
    case BoxEnd::kMemory:
      return fault("memory", "the kernels need more memory than their limit");
    case BoxEnd::kOutputLimit:
      return fault("output_limit", "the kernels print too much");
    case BoxEnd::kCancelled:
    case BoxEnd::kBoxFailed:
      break;
  }
  result.infrastructure = true;
  result.reason = box.end == BoxEnd::kCancelled ? "cancelled" : "replay box: " + box.reason;
}

std::vector<ReplayTrial> read_trials(const nlohmann::json& list) {
  std::vector<ReplayTrial> trials;
  for (const auto& one : list) {
    ReplayTrial trial;
    trial.fault_class = class_of(one.value("status", "fault"));
    trial.message = one.value("message", "");
    trial.run_ms = one.value("run_ms", std::vector<double>{});
    trials.push_back(std::move(trial));
  }
  return trials;
}

void read_control(const std::string& text, int trials, ReplayResult& result) {
  const auto said = nlohmann::json::parse(text.substr(0, text.find('\n')), nullptr, false);
  if (said.is_object()) result.trials = read_trials(said.value("draws", nlohmann::json::array()));
  // It stops at the first trial that fails.
  const bool failed = !result.trials.empty() && !result.trials.back().fault_class.empty();
  if (result.trials.size() != static_cast<size_t>(trials) && !failed) {
    result.infrastructure = true;
    result.reason = "the replay program sent no report";
    return;
  }
  result.confirm = read_trials(said.value("confirm", nlohmann::json::array()));
}

}  // namespace

Replayer::Replayer(BoxHost& host, ScratchFolder& scratch, const ReplayOptions& options)
    : host_(host), scratch_(scratch), options_(options), inputs_(options.input_cache_bytes) {}

Result<std::shared_ptr<const ScratchFile>> Replayer::inputs(const std::string& key, const OracleSpec& spec,
                                                            const OracleAnswers& answers, size_t first,
                                                            int draws) {
  using Reply = Result<std::shared_ptr<const ScratchFile>>;
  const size_t pool = answers.draws.size();
  // The seed tells one oracle run of a task from the next.
  const std::string name =
      hash_hex({key, std::to_string(spec.init_seed), std::to_string(first % pool), std::to_string(draws)});
  if (auto known = inputs_.find(name)) return Reply(std::move(*known));
  std::vector<std::vector<std::string>> chosen;
  for (int d = 0; d < draws; ++d)
    chosen.push_back(answers.draws[(first + static_cast<size_t>(d)) % pool].inputs);
  const auto encoded = encode_inputs(spec.layout, chosen);
  if (!encoded) return Reply::failure(encoded.reason());
  std::shared_ptr<const ScratchFile> file = scratch_.write(encoded.value());
  inputs_.insert(name, file, encoded.value().size());
  return Reply(std::move(file));
}

ReplayResult Replayer::run(const ReplayPlan& plan, std::stop_token stop) {
  ReplayResult result;
  const uint64_t buffers = plan.trace->buffer_bytes();
  if (buffers > options_.max_buffer_bytes) {
    result.fault_class = "memory";
    result.reason = concat("allocates ", buffers >> 20, " MiB of device memory, over the limit of ",
                           options_.max_buffer_bytes >> 20, " MiB");
    return result;
  }
  try {
    const auto module = scratch_.write(plan.module);
    const auto trace = scratch_.write(plan.trace->encode());
    const uint64_t output_bytes =
        plan.trace->output_layout().draw_bytes * static_cast<uint64_t>(plan.trials + 2);
    const UniqueFd outputs = poisoned_memfd(output_bytes, plan.poison);
    const UniqueFd control = make_memfd("control");
    BoxSpec spec;
    spec.argv = {"/host/bicrl-replay",
                 "--module",
                 "/job/module.so",
                 "--trace",
                 "/job/trace",
                 "--inputs",
                 "/job/inputs",
                 "--draws",
                 std::to_string(plan.trials),
                 "--poison",
                 std::to_string(plan.poison),
                 "--confirm",
                 std::to_string(plan.confirm_poison),
                 "--repeat",
                 std::to_string(plan.repeat),
                 "--output-fd",
                 std::to_string(kOutputFd),
                 "--control-fd",
                 std::to_string(kControlFd),
                 "--stop-early",
                 "--run-limit-ms",
                 std::to_string(options_.wall_s * 1e3)};
    // The loader finds a program's own folder through /proc, which boxes lack.
    spec.env = {"LD_LIBRARY_PATH=/host"};
    spec.mounts = {{share_folder() / "host", "/host"},
                   {module->path(), "/job/module.so"},
                   {trace->path(), "/job/trace"},
                   {plan.inputs->path(), "/job/inputs"}};
    spec.fds = {{outputs.get(), kOutputFd}, {control.get(), kControlFd}};
    spec.limits.wall_s = options_.wall_s * (plan.trials * plan.repeat + 3);
    spec.limits.cpu_s = static_cast<int>(spec.limits.wall_s) + 1;
    spec.limits.memory_bytes = options_.memory_bytes;
    spec.limits.file_bytes = std::max<uint64_t>(output_bytes, 16u << 20);
    const BoxResult box = run_box(host_, spec, stop);
    result.replay_ms = box.total_ms;
    set_end(box, result);
    if (result.infrastructure || !result.fault_class.empty()) {
      if (box.process_limit_hit && !result.infrastructure) {
        result.fault_class = "process";
        result.reason = "the kernels start processes";
      }
      return result;
    }
    read_control(read_all(control.get(), kMaxControlBytes), plan.trials, result);
    if (box.process_limit_hit)
      for (auto& trial : result.trials)
        if (!trial.fault_class.empty()) trial.fault_class = "process";
    result.outputs = read_all(outputs.get(), output_bytes);
    if (result.outputs.size() != output_bytes) {
      result.fault_class = "cheating";
      result.reason = "cut the output memory short";
    }
  } catch (const nlohmann::json::exception&) {
    result.infrastructure = true;
    result.reason = "the replay program's report is malformed";
  } catch (const Error& error) {
    result.infrastructure = true;
    result.reason = error.what();
  }
  return result;
}

}  // namespace bicrl
