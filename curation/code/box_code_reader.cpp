#include "curation/code/box_code_reader.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/config/config.h"
#include "common/error.h"
#include "common/files/files.h"
#include "common/files/last_lines.h"
#include "common/hash.h"
#include "sandbox/box/box_host.h"
#include "sandbox/box/python_install.h"
#include "sandbox/box/zygote.h"
#include "sandbox/oracle/reduced_sizes.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double kWallForCpu = 6;  // a busy machine's waiting is no fault of the code; sleeping is
constexpr int kAttempts = 3;       // of a box that fails by itself
constexpr size_t kAhead = 4;       // questions in work for each interpreter

Json failed(const char* kind, const std::string& why) { return {{"failed", why}, {"kind", kind}}; }

// What the code did to its box; nothing if the box failed by itself.
std::optional<Json> failure_of(const ChildResult& result) {
  switch (result.end) {
    case ChildEnd::kTimeout:
      return failed("timeout", "it takes longer than the limit");
    case ChildEnd::kMemory:
      return failed("too_large", "it needs more memory than the limit");
    case ChildEnd::kSignalled:
      return failed("crash", concat("it crashed (signal ", result.code, ")"));
    case ChildEnd::kExited:
      return failed("crash",
                    concat("it ended its process (status ", result.code, "): ", last_lines(result.output)));
    case ChildEnd::kOutputLimit:
      return failed("crash", "it prints too much");
    case ChildEnd::kBadFrame:
      return failed("crash", "its box sent a malformed answer");
    case ChildEnd::kCancelled:
    case ChildEnd::kBoxFailed:
      break;
  }
  return std::nullopt;
}

// Generated code is compiled in boxes that may start the system's compiler.
bool needs_toolchain(const Json& request) { return request.value("backend", "") == "inductor"; }

// Of the files that answer: another version may answer otherwise.
std::string version_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".py") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  Hasher hasher;
  for (const fs::path& file : files) hasher.update(read_file(file));
  return hasher.hex();
}

std::string basis_of_boxes(const BoxOptions& options, const PythonInstall& python) {
  return concat("torch ", python.torch_version, ", reader ",
                hash_hex({version_of(share_folder() / "curation"), kSizeVariantsVersion,
                          std::to_string(options.cpu_s), std::to_string(options.memory_mib)}));
}

}  // namespace

BoxOptions BoxOptions::from_config(const ConfigSection& section) {
  BoxOptions o;
  o.python = section.text("python", "");
  o.bwrap = section.text("bwrap", "");
  o.concurrent = static_cast<int>(section.integer("concurrent", o.concurrent, 1, 256));
  o.cpu_s = static_cast<int>(section.integer("cpu_s", o.cpu_s, 1, 3600));
  o.memory_mib =
      static_cast<uint64_t>(section.integer("memory_mib", static_cast<int64_t>(o.memory_mib), 256, 1 << 20));
  return o;
}

class BoxCodeReader::Engine {
 public:
  explicit Engine(const BoxOptions& options)
      : options_(options),
        host_(options.bwrap),
        python_(PythonInstall::find(options.python)),
        folder_(share_folder() / "curation"),
        basis_(basis_of_boxes(options, python_)),
        zygote_(host_, python_, {"task reader", "task_reader", "run", {folder_}}) {
    for (int i = 0; i < options.concurrent; ++i)
      workers_.emplace_back([this](std::stop_token stop) { work(stop); });
  }
  ~Engine() {
    for (auto& worker : workers_) worker.request_stop();
    workers_.clear();
  }

  const std::string& basis() const { return basis_; }
  size_t capacity() const { return kAhead * static_cast<size_t>(options_.concurrent); }

  void submit(const void* asker, uint64_t number, const Json& request) {
    const std::lock_guard lock(mutex_);
    questions_.push_back({asker, {number, request}});
    asked_.notify_one();
  }
  std::optional<CodeAnswer> next(const void* asker, Milliseconds patience) {
    std::unique_lock lock(mutex_);
    std::deque<CodeAnswer>& answers = answers_[asker];
    answered_.wait_for(lock, patience, [&] { return !answers.empty() || !broken_.empty(); });
    if (!broken_.empty())
      throw Error(concat("the boxes that read tasks' code fail: ", broken_), ExitCode::kUnavailable);
    if (answers.empty()) return std::nullopt;
    CodeAnswer answer = std::move(answers.front());
    answers.pop_front();
    return answer;
  }

 private:
  struct Question {
    const void* asker = nullptr;
    CodeAnswer asked;  // its value is the request
  };

  void work(std::stop_token stop) {
    while (true) {
      Question question;
      {
        std::unique_lock lock(mutex_);
        if (!asked_.wait(lock, stop, [&] { return !questions_.empty(); })) return;
        question = std::move(questions_.front());
        questions_.pop_front();
      }
      Result<Json> answer = ask(question.asked.value, stop);
      for (int attempt = 1; !answer && attempt < kAttempts && !stop.stop_requested(); ++attempt)
        answer = ask(question.asked.value, stop);
      const std::lock_guard lock(mutex_);
      if (answer)
        answers_[question.asker].push_back({question.asked.number, std::move(answer.value())});
      else
        broken_ = answer.reason();
      answered_.notify_all();
    }
  }

  // The one with a toolchain is started when it is first asked.
  Zygote& zygote_for(const Json& request) {
    if (!needs_toolchain(request)) return zygote_;
    const std::lock_guard lock(compiler_mutex_);
    if (!compiler_) {
      ZygoteSpec spec{"task compiler", "task_compiler", "run", {folder_}};
      spec.starts_processes = true;
      compiler_.emplace(host_, python_, std::move(spec));
    }
    return *compiler_;
  }

  // Failure is the box's own.
  Result<Json> ask(const Json& request, std::stop_token stop) try {
    ChildLimits limits;
    limits.cpu_s = options_.cpu_s;
    limits.wall_s = kWallForCpu * options_.cpu_s;
    limits.memory_bytes = options_.memory_mib << 20;
    Zygote& zygote = zygote_for(request);
    auto child = zygote.fork(limits, stop);
    if (!child) return Result<Json>::failure(child.reason());
    std::optional<Frame> frame;
    if (child.value()->send(request, {}, stop)) frame = child.value()->receive(stop);
    if (frame && frame->header.is_object() && frame->header.contains("answer")) {
      zygote.dismiss(std::move(child.value()));
      return Json(frame->header["answer"]);
    }
    const ChildResult end = child.value()->finish();
    if (const auto failure = failure_of(end)) return *failure;
    return Result<Json>::failure(end.reason.empty() ? "it gave no answer" : end.reason);
  } catch (const Error& error) {
    return Result<Json>::failure(error.what());
  }

  const BoxOptions options_;
  BoxHost host_;
  const PythonInstall python_;
  const fs::path folder_;
  const std::string basis_;
  Zygote zygote_;
  std::mutex compiler_mutex_;
  std::optional<Zygote> compiler_;
  mutable std::mutex mutex_;
  std::condition_variable_any asked_, answered_;
  std::deque<Question> questions_;
  std::map<const void*, std::deque<CodeAnswer>> answers_;
  std::string broken_;
  std::vector<std::jthread> workers_;  // last: they end first
};

BoxCodeReader::BoxCodeReader(const BoxOptions& options) : engine_(std::make_unique<Engine>(options)) {}
BoxCodeReader::~BoxCodeReader() = default;
std::string BoxCodeReader::basis_of(const BoxOptions& options) {
  return basis_of_boxes(options, PythonInstall::find(options.python));
}
std::string BoxCodeReader::basis() { return engine_->basis(); }
void BoxCodeReader::submit(const void* asker, uint64_t number, const Json& request) {
  engine_->submit(asker, number, request);
}
std::optional<CodeAnswer> BoxCodeReader::next(const void* asker, Milliseconds patience) {
  return engine_->next(asker, patience);
}
size_t BoxCodeReader::capacity() const { return engine_->capacity(); }

}  // namespace bicrl::curation
