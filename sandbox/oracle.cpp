#include "sandbox/oracle.h"

#include <sys/random.h>

#include <algorithm>

#include "common/error.h"
#include "common/hash.h"

namespace bicrl {
namespace {

constexpr size_t kMaxReasonBytes = 600;

// Seeds that nobody can derive: not from each other, not from the parameters' seed.
int64_t secret_seed() {
  uint32_t word = 0;
  BICRL_CHECK(getrandom(&word, sizeof word, 0) == sizeof word, "getrandom");
  return word & 0x7fffffff;
}

double quantile(std::vector<double> sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

std::string describe_end(const ChildResult& result) {
  switch (result.end) {
    case ChildEnd::kTimeout:
      return "the reference takes longer than the oracle's limit";
    case ChildEnd::kMemory:
      return "the reference needs more memory than the oracle's limit";
    case ChildEnd::kSignalled:
      return concat("the reference crashed (signal ", result.code, ")");
    case ChildEnd::kExited:
      return concat("the reference ended its process (status ", result.code, ")");
    case ChildEnd::kOutputLimit:
      return "the reference prints too much";
    case ChildEnd::kBadFrame:
      return "the reference's box sent a malformed answer: " + result.reason;
    case ChildEnd::kCancelled:
      return "cancelled";
    case ChildEnd::kBoxFailed:
      break;
  }
  return "the oracle's box failed: " + result.reason;
}

}  // namespace

uint64_t OracleDraw::bytes() const {
  uint64_t total = 0;
  for (const auto& leaf : inputs) total += leaf.size();
  for (const auto& leaf : expected) total += leaf.size();
  return total;
}

std::shared_ptr<const OracleSpec> OracleTask::spec(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return spec_ || failure_; });
  return spec_;
}

std::shared_ptr<const OracleAnswers> OracleTask::answers(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return answers_ || failure_; });
  return answers_;
}

OracleFailure OracleTask::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_.value_or(OracleFailure{false, "cancelled"});
}

size_t OracleTask::next_rotation() {
  const std::lock_guard lock(mutex_);
  return rotation_++;
}

void OracleTask::fail(bool task_fault, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = OracleFailure{task_fault, reason.substr(0, kMaxReasonBytes)};
  }
  changed_.notify_all();
}

Oracle::Oracle(BoxHost& host, const PythonInstall& python, const OracleOptions& options)
    : options_(options), zygote_(host, python, {"oracle", "oracle", "run", {}}) {
  for (int i = 0; i < std::max(1, options_.concurrent); ++i)
    workers_.emplace_back([this](std::stop_token stop) { worker(stop); });
}

Oracle::~Oracle() {
  for (auto& thread : workers_) thread.request_stop();
  workers_.clear();
  for (const auto& job : jobs_) job.task->fail(false, "the verifier is stopping");
}

std::shared_ptr<OracleTask> Oracle::open(const std::string& pytorch_code, int least_draws) {
  const std::string key = hash_hex(pytorch_code);
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(key); found != entries_.end()) {
    if (found->second.least_draws >= least_draws) {
      ages_.splice(ages_.begin(), ages_, found->second.age);
      return found->second.task;
    }
    drop(found);
  }
  auto task = std::make_shared<OracleTask>();
  ages_.push_front(key);
  entries_[key] = {task, least_draws, ages_.begin()};
  jobs_.push_back({task, pytorch_code, least_draws});
  work_.notify_one();
  return task;
}

void Oracle::forget(const std::string& pytorch_code) {
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(hash_hex(pytorch_code)); found != entries_.end()) drop(found);
}

void Oracle::drop(std::unordered_map<std::string, Entry>::iterator entry) {
  cached_bytes_ -= entry->second.task->bytes_;
  entry->second.task->bytes_ = 0;
  ages_.erase(entry->second.age);
  entries_.erase(entry);
}

uint64_t Oracle::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return cached_bytes_;
}

void Oracle::worker(std::stop_token stop) {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      if (!work_.wait(lock, stop, [&] { return !jobs_.empty(); })) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    try {
      load(job.task, job.code, job.least_draws, stop);
    } catch (const std::exception& error) {  // out of descriptors or memory: the next attempt may find some
      job.task->fail(false, error.what());
    }
  }
}

void Oracle::load(const std::shared_ptr<OracleTask>& task, const std::string& code, int least_draws,
                  std::stop_token stop) {
  ChildLimits limits;
  limits.wall_s = options_.wall_s;
  limits.cpu_s = static_cast<int>(options_.wall_s) + 1;
  limits.memory_bytes = options_.memory_bytes;
  limits.frames.blob_bytes = 2 * options_.max_input_bytes + options_.pool_bytes;
  auto child = zygote_.fork(limits, stop);
  if (!child) return task->fail(false, child.reason());
  converse(*task, *child.value(), code, least_draws, stop);
  uint64_t bytes = 0;
  if (const auto answers = task->answers_)
    for (const auto& draw : answers->draws) bytes += draw.bytes();
  account(task, bytes);
}

void Oracle::converse(OracleTask& task, ZygoteChild& child, const std::string& code, int least_draws,
                      std::stop_token stop) {
  auto spec = std::make_shared<OracleSpec>();
  auto answers = std::make_shared<OracleAnswers>();
  spec->init_seed = secret_seed();
  std::vector<int64_t> seeds(static_cast<size_t>(std::max(least_draws, options_.pool_draws)));
  for (auto& seed : seeds) seed = secret_seed();
  const nlohmann::json request{{"kind", "task"},
                               {"task_code", code},
                               {"init_seed", spec->init_seed},
                               {"draw_seeds", seeds},
                               {"least_draws", least_draws},
                               {"max_input_bytes", options_.max_input_bytes},
                               {"pool_bytes", options_.pool_bytes},
                               {"shifted", options_.shifted_draws}};
  bool alive = child.send(request, {}, stop);
  // The box runs code of a task file, so its frames are checked like any other's.
  try {
    while (alive) {
      auto frame = child.receive(stop);
      if (!frame) break;
      const std::string kind = frame->header.value("kind", "");
      if (kind == "fault") return task.fail(true, frame->header.value("message", "no reason given"));
      if (kind == "spec") {
        spec->inputs = frame->header.at("inputs");
        spec->too_large_bytes = frame->header.value("too_large_bytes", uint64_t{0});
        auto layout = input_layout(spec->inputs);
        if (!layout) return task.fail(true, layout.reason());
        spec->layout = std::move(layout.value());
        {
          const std::lock_guard lock(task.mutex_);
          task.spec_ = spec;
        }
        task.changed_.notify_all();
        if (spec->too_large_bytes)
          return task.fail(
              true, concat("its inputs take ", spec->too_large_bytes >> 20, " MiB a draw, over the limit of ",
                           options_.max_input_bytes >> 20, " MiB (oracle.max_input_mib)"));
      } else if (kind == "draw") {
        OracleDraw draw;
        draw.family = frame->header.value("family", "");
        if (frame->header.at("reference_error").is_number())
          draw.reference_error = frame->header["reference_error"].get<double>();
        const size_t inputs = frame->header.at("input_leaves").get<size_t>();
        if (inputs != spec->layout.leaves.size() || inputs > frame->blobs.size())
          return task.fail(true, "its inputs do not match their description");
        for (size_t i = 0; i < frame->blobs.size(); ++i)
          (i < inputs ? draw.inputs : draw.expected).push_back(std::move(frame->blobs[i]));
        if (answers->draws.empty()) answers->returned = frame->header.at("returned");
        answers->draws.push_back(std::move(draw));
      } else if (kind == "done") {
        auto times = frame->header.at("eager_ms").get<std::vector<double>>();
        if (answers->draws.empty() || times.empty()) return task.fail(true, "its reference gave no answer");
        std::sort(times.begin(), times.end());
        answers->eager_ms = quantile(times, 0.5);
        answers->eager_spread_ms = quantile(times, 0.75) - quantile(times, 0.25);
        {
          const std::lock_guard lock(task.mutex_);
          task.answers_ = answers;
        }
        task.changed_.notify_all();
        return;
      }
    }
  } catch (const nlohmann::json::exception&) {
    return task.fail(true, "the reference's box sent a malformed answer");
  }
  const ChildResult end = child.finish();
  task.fail(end.end != ChildEnd::kBoxFailed && end.end != ChildEnd::kCancelled, describe_end(end));
}

void Oracle::account(const std::shared_ptr<OracleTask>& task, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const bool kept =
      std::any_of(entries_.begin(), entries_.end(), [&](const auto& e) { return e.second.task == task; });
  if (!kept) return;
  task->bytes_ = bytes;
  cached_bytes_ += bytes;
  // Verifications under way keep their answers alive by themselves.
  while (cached_bytes_ > options_.cache_bytes && entries_.size() > 1) {
    const auto oldest = entries_.find(ages_.back());
    if (oldest->second.task == task) break;
    drop(oldest);
  }
}

}  // namespace bicrl
