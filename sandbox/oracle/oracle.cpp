#include "sandbox/oracle/oracle.h"

#include <algorithm>

#include "common/error.h"
#include "common/hash.h"
#include "sandbox/verifier/secret.h"

namespace bicrl {
namespace {

constexpr double kWallForCpu = 6;  // a busy machine's waiting is no fault of the task; sleeping is

const char* size_name(TaskSize size) {
  switch (size) {
    case TaskSize::kGiven:
      return "given";
    case TaskSize::kOwn:
      return "own";
    case TaskSize::kReduced:
      return "reduced";
    case TaskSize::kCosted:
      return "costed";
  }
  BICRL_CHECK(false, "size ", static_cast<int>(size));
  return "";
}

double quantile(std::vector<double> sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

// The tensors of a returned value in depth-first order.
void collect_tensors(const nlohmann::json& spec, std::vector<TensorLayout>& tensors) {
  if (spec.at("t") == "tensor") {
    auto layout = parse_tensor_layout(spec);
    if (!layout) throw InputError(layout.reason());
    tensors.push_back(std::move(layout.value()));
  } else if (spec.contains("items")) {
    for (const auto& item : spec["items"]) collect_tensors(item, tensors);
  }
}

// The frame of a test input. Throws InputError if its parts do not belong together.
TestInput read_test_input(Frame& frame, const InputLayout& layout, bool tf32) {
  TestInput test_input;
  test_input.kind = frame.header.at("family").get<std::string>();
  std::vector<TensorLayout> outputs;
  collect_tensors(frame.header.at("returned"), outputs);
  const size_t inputs = layout.leaves.size(), parts = tf32 ? 3 : 2;
  if (frame.header.at("input_leaves") != inputs || frame.blobs.size() != inputs + parts * outputs.size())
    throw InputError("a test input has another number of tensors than it says");
  for (size_t i = 0; i < inputs; ++i) {
    if (frame.blobs[i].size() != layout.leaves[i].bytes)
      throw InputError("its inputs do not match their description");
    test_input.inputs.push_back(std::move(frame.blobs[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    ExpectedLeaf leaf;
    leaf.center = std::move(frame.blobs[inputs + parts * i]);
    leaf.allowance = std::move(frame.blobs[inputs + parts * i + 1]);
    if (tf32) leaf.allowance_tf32 = std::move(frame.blobs[inputs + parts * i + 2]);
    if (!fits(leaf, outputs[i].dtype, static_cast<uint64_t>(outputs[i].numel())))
      throw InputError("its answers do not match their description");
    test_input.expected.push_back(std::move(leaf));
  }
  return test_input;
}

// From kind after kind to test inputs that alternate between kinds. Each kind has as many.
void interleave(std::vector<TestInput>& test_inputs, size_t kinds) {
  const size_t rounds = test_inputs.size() / kinds;
  std::vector<TestInput> mixed;
  for (size_t round = 0; round < rounds; ++round)
    for (size_t kind = 0; kind < kinds; ++kind)
      mixed.push_back(std::move(test_inputs[kind * rounds + round]));
  test_inputs = std::move(mixed);
}

void read_spec(Frame& frame, const nlohmann::json& request, OracleSpec& spec) {
  const nlohmann::json& header = frame.header;
  spec.inputs = header.at("inputs");
  spec.arguments = header.at("arguments");
  spec.argument_bytes = std::move(frame.blobs);
  spec.parameters = header.at("parameters");
  spec.init_seed = request.at("init_seed").get<int64_t>();
  spec.has_costing_inputs = header.at("has_costing_inputs").get<bool>();
  spec.costing_repeats = header.at("costing_repeats").get<uint64_t>();
  if (spec.costing_repeats < 1 || spec.costing_repeats > kMostCostingRepeats)
    throw InputError(concat("its costing_repeats are ", spec.costing_repeats));
  spec.ignores_mode = header.value("ignores_mode", false);
  auto layout = input_layout(spec.inputs);
  if (!layout) throw InputError(layout.reason());
  spec.layout = std::move(layout.value());
}

void read_end(const nlohmann::json& header, size_t kinds, OracleAnswers& answers) {
  auto times = header.at("eager_ms").get<std::vector<double>>();
  if (answers.test_inputs.empty() || answers.test_inputs.size() % kinds != 0 || times.empty())
    throw InputError("its reference gave no answer");
  const TestInput& first = answers.test_inputs.front();
  for (const TestInput& test_input : answers.test_inputs)
    if (!std::equal(test_input.expected.begin(), test_input.expected.end(), first.expected.begin(),
                    first.expected.end(),
                    [](const auto& a, const auto& b) { return a.center.size() == b.center.size(); }))
      throw InputError("its answers have other shapes on other test inputs");
  answers.trivial_outputs = header.at("trivial").get<std::vector<bool>>();
  answers.written_inputs = header.at("written_inputs").get<std::vector<bool>>();
  answers.long_inputs = header.at("long_inputs").get<std::vector<bool>>();
  if (answers.trivial_outputs.size() != first.expected.size() ||
      answers.written_inputs.size() != first.inputs.size() ||
      answers.long_inputs.size() != first.inputs.size())
    throw InputError("what it says of its inputs and outputs is not of all of them");
  interleave(answers.test_inputs, kinds);
  for (const auto& fault : header.at("faults"))
    answers.faults.push_back({fault.at("kind").get<std::string>(),
                              fault.at("message").get<std::string>().substr(0, kMaxReferenceReasonBytes),
                              fault.value("is_vacuous", false)});
  answers.reference = read_reference_launches(header.at("operators"));
  std::sort(times.begin(), times.end());
  answers.eager_ms = quantile(times, 0.5);
  answers.eager_spread_ms = quantile(times, 0.75) - quantile(times, 0.25);
}

}  // namespace

uint64_t TestInput::bytes() const {
  uint64_t total = 0;
  for (const auto& leaf : inputs) total += leaf.size();
  for (const auto& leaf : expected) total += leaf.bytes();
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

bool OracleTask::is_known() const {
  const std::lock_guard lock(mutex_);
  return answers_ || failure_;
}

OracleFailure OracleTask::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_.value_or(OracleFailure{false, "cancelled", ""});
}

std::vector<size_t> OracleTask::choose(int trials) {
  const std::lock_guard lock(mutex_);
  BICRL_CHECK(answers_ != nullptr, "choosing test inputs that are not known yet");
  std::vector<size_t> chosen(static_cast<size_t>(trials));
  for (size_t& index : chosen) index = rotation_++ % answers_->test_inputs.size();
  return chosen;
}

void OracleTask::fail(OracleFailure failure) {
  failure.reason = failure.reason.substr(0, kMaxReferenceReasonBytes);
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
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
  for (const auto& job : jobs_) job.task->fail({false, "the verifier is stopping", ""});
}

class Oracle::Use {
 public:
  Use(Oracle& oracle, std::shared_ptr<OracleTask> task, std::stop_token user)
      : oracle_(oracle), task_(std::move(task)), user_(std::move(user)) {}
  ~Use() { oracle_.let_go(task_, user_.stop_requested()); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Oracle& oracle_;
  const std::shared_ptr<OracleTask> task_;
  const std::stop_token user_;
};

// With the lock held.
std::shared_ptr<OracleTask> Oracle::hand_out(const std::shared_ptr<OracleTask>& task, std::stop_token user) {
  ++task->users_;
  return {std::make_shared<Use>(*this, task, std::move(user)), task.get()};
}

// A verification that ends leaves the reference at work, for the task's next candidate; one that was stopped
// does not, unless another one needs it.
void Oracle::let_go(const std::shared_ptr<OracleTask>& task, bool stopped) {
  {
    const std::lock_guard lock(mutex_);
    if (--task->users_ > 0 || !stopped || task->is_known()) return;
    // Whoever asks from now on gets a run of its own.
    const auto kept = std::ranges::find_if(entries_, [&](const auto& e) { return e.second.task == task; });
    if (kept != entries_.end()) drop(kept);
    jobs_.remove_if([&](const Job& job) { return job.task == task; });
  }
  task->stop_.request_stop();
}

std::shared_ptr<OracleTask> Oracle::open(const std::string& pytorch_code, int least_inputs, TaskSize size,
                                         std::stop_token user) {
  const std::string key = hash_hex({pytorch_code, size_name(size)});
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(key); found != entries_.end()) {
    if (found->second.least_inputs >= least_inputs) {
      ages_.splice(ages_.begin(), ages_, found->second.age);
      return hand_out(found->second.task, std::move(user));
    }
    drop(found);
  }
  auto task = std::make_shared<OracleTask>();
  ages_.push_front(key);
  entries_[key] = {task, least_inputs, ages_.begin()};
  jobs_.push_back({task, pytorch_code, least_inputs, size});
  work_.notify_one();
  return hand_out(task, std::move(user));
}

std::shared_ptr<OracleTask> Oracle::open_fresh(const std::string& pytorch_code, int64_t init_seed,
                                               TaskSize size, std::stop_token user) {
  auto task = std::make_shared<OracleTask>();
  const std::lock_guard lock(mutex_);
  jobs_.push_back({task, pytorch_code, input_kinds(size), size, init_seed});
  work_.notify_one();
  return hand_out(task, std::move(user));
}

void Oracle::forget(const OracleTask& failed) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry.second.task.get() == &failed; });
  if (found != entries_.end()) drop(found);
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
      load(job, stop);
    } catch (const std::exception& error) {  // out of descriptors or memory: the next attempt may find some
      job.task->fail({false, error.what(), ""});
    }
  }
}

ChildLimits Oracle::limits() const {
  ChildLimits limits;
  limits.cpu_s = options_.cpu_s;
  limits.wall_s = kWallForCpu * options_.cpu_s;
  limits.memory_bytes = options_.memory_bytes;
  limits.frames.blob_bytes = options_.max_input_bytes + 4 * options_.max_output_bytes;
  return limits;
}

Result<bool> Oracle::decides(const std::string& pytorch_code, const OracleSpec& spec,
                             const TestInput& test_input, const std::vector<InputBytes>& unread,
                             std::stop_token stop) {
  auto child = zygote_.fork(limits(), stop);
  if (!child) return Result<bool>::failure(child.reason());
  nlohmann::json request{{"kind", "unread"},
                         {"task_code", pytorch_code},
                         {"init_seed", spec.init_seed},
                         {"unread", nlohmann::json::array()}};
  for (const InputBytes& run : unread) request["unread"].push_back({run.leaf, run.begin, run.end});
  std::vector<std::string_view> blobs(test_input.inputs.begin(), test_input.inputs.end());
  for (const ExpectedLeaf& leaf : test_input.expected) blobs.push_back(leaf.allowance);
  std::optional<Frame> frame;
  if (child.value()->send(request, blobs, stop)) frame = child.value()->receive(stop);
  if (!frame) return Result<bool>::failure(failure_of(child.value()->finish()).reason);
  const bool decides = frame->header.value("decides", false);
  zygote_.dismiss(std::move(child.value()));
  return decides;
}

void Oracle::load(const Job& job, std::stop_token server_stop) {
  const std::shared_ptr<OracleTask>& task = job.task;
  const std::stop_token stop = task->stop_.get_token();
  const std::stop_callback both(server_stop, [&task] { task->stop_.request_stop(); });
  auto child = zygote_.fork(limits(), stop);
  if (!child) return task->fail({false, child.reason(), ""});
  const bool makes_pool = !job.init_seed && (job.size == TaskSize::kGiven || job.size == TaskSize::kOwn);
  nlohmann::json request{{"kind", "task"},
                         {"task_code", job.code},
                         {"costing", job.size == TaskSize::kCosted},
                         {"init_seed", job.init_seed.value_or(static_cast<int64_t>(secret_number() >> 33))},
                         {"secret", secret_text()},
                         {"least_inputs", job.least_inputs},
                         {"most_inputs", makes_pool ? options_.pool_inputs : job.least_inputs},
                         {"max_input_bytes", options_.max_input_bytes},
                         {"max_output_bytes", options_.max_output_bytes},
                         {"most_lane_operations", options_.most_lane_operations},
                         {"pool_bytes", options_.pool_bytes},
                         {"tf32", options_.tf32}};
  if (job.size == TaskSize::kGiven && !job.init_seed)
    request["most_ordinary_operations"] = options_.most_lane_operations;
  converse(*task, *child.value(), request, static_cast<size_t>(input_kinds(job.size)), stop);
  zygote_.dismiss(std::move(child.value()));
  uint64_t bytes = 0;
  if (const auto answers = task->answers_)
    for (const auto& test_input : answers->test_inputs) bytes += test_input.bytes();
  account(task, bytes);
}

// The box runs code of a task file, so its frames are checked like any other's.
void Oracle::converse(OracleTask& task, ZygoteChild& child, const nlohmann::json& request, size_t kinds,
                      std::stop_token stop) {
  auto spec = std::make_shared<OracleSpec>();
  auto answers = std::make_shared<OracleAnswers>();
  const auto publish = [&task](auto& slot, auto value) {
    {
      const std::lock_guard lock(task.mutex_);
      slot = std::move(value);
    }
    task.changed_.notify_all();
  };
  bool alive = child.send(request, {}, stop);
  try {
    while (alive) {
      auto frame = child.receive(stop);
      if (!frame) break;
      const std::string kind = frame->header.value("kind", "");
      if (kind == "fault")
        return task.fail({true, frame->header.value("message", "no reason given"),
                          frame->header.value("fault", "raises")});
      if (kind == "spec") {
        read_spec(*frame, request, *spec);
        publish(task.spec_, spec);
      } else if (kind == "test_input") {
        if (answers->test_inputs.empty()) answers->returned = frame->header.at("returned");
        answers->test_inputs.push_back(read_test_input(*frame, spec->layout, options_.tf32));
      } else if (kind == "again") {
        answers->test_inputs.clear();
      } else if (kind == "done") {
        read_end(frame->header, kinds, *answers);
        return publish(task.answers_, answers);
      }
    }
  } catch (const nlohmann::json::exception&) {
    return task.fail({true, "the reference's box sent a malformed answer", "crash"});
  } catch (const InputError& error) {
    return task.fail({true, error.what(), "crash"});
  }
  task.fail(failure_of(child.finish()));
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
