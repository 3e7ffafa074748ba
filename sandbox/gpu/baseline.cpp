#include "sandbox/gpu/baseline.h"

#include <algorithm>
#include <utility>

#include "common/log.h"

namespace bicrl {
namespace {

// torch is imported and makes a context; from a disk that is cold this takes long.
constexpr double kStart_s = 180;
// Of a call of the module with its flushes, or the inputs' way to the device.
constexpr double kStep_s = 60;

}  // namespace

Baseline::Baseline(BoxHost& host, const PythonInstall& python, const BaselineOptions& options)
    : host_(host), python_(python), options_(options), process_(start()) {}

std::unique_ptr<GpuProcess> Baseline::start() const {
  return std::make_unique<GpuProcess>(host_, python_, options_.script, options_.device,
                                      options_.memory_bytes);
}

size_t Baseline::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

Baseline::Queue::const_iterator Baseline::next_in_queue() const {
  if (in_a_row_ >= kMostInARow) return queue_.begin();
  const auto same = std::ranges::find(queue_, last_task_);
  return same == queue_.end() ? queue_.begin() : same;
}

Baseline::Session::Session(Baseline& owner, std::stop_token stop, std::string task)
    : owner_(owner), stop_(std::move(stop)) {
  std::unique_lock lock(owner_.mutex_);
  const auto place = owner_.queue_.insert(owner_.queue_.end(), std::move(task));
  holds_ =
      owner_.changed_.wait(lock, stop_, [&] { return !owner_.in_use_ && owner_.next_in_queue() == place; });
  if (holds_) {
    owner_.in_use_ = true;
    owner_.in_a_row_ = *place == owner_.last_task_ ? owner_.in_a_row_ + 1 : 1;
    owner_.last_task_ = *place;
  }
  owner_.queue_.erase(place);
  if (!holds_) owner_.changed_.notify_all();
}

Baseline::Session::~Session() {
  if (!holds_) return;
  nlohmann::json said;
  if (!lost_) (void)await_ready();
  if (open_ && !lost_) (void)tell({{"window", "close"}}, said);
  std::unique_ptr<GpuProcess> lost;  // ends when the next session has begun: it may hang in the driver
  if (lost_) lost = owner_.replace();
  const std::lock_guard lock(owner_.mutex_);
  owner_.in_use_ = false;
  owner_.changed_.notify_all();
}

// Another one starts now, so that the next session need not wait. Where none can be started the lost one
// stays: the next session reports that, and tries again behind it.
std::unique_ptr<GpuProcess> Baseline::replace() noexcept try {
  auto another = start();
  const std::lock_guard lock(mutex_);
  std::swap(process_, another);
  return another;
} catch (const std::exception& error) {
  log_warning("no process for references on the GPU can be started: ", error.what());
  return nullptr;
}

Result<nlohmann::json> Baseline::Session::hello() {
  if (!holds_) return Result<nlohmann::json>::failure("cancelled");
  auto hello = owner_.process_->hello(kStart_s, stop_);
  lost_ = lost_ || (!hello && !stop_.stop_requested());
  return hello;
}

Fault Baseline::Session::open(const std::vector<int>& files, size_t plan, double patience_s) {
  if (const auto said = hello(); !said)
    return Fault::infrastructure("the references' process: " + said.reason());
  // From here on a stop costs the process, with what it knows of the task.
  if (stop_.stop_requested()) return Fault::infrastructure("cancelled");
  nlohmann::json said;
  GpuProcess::Said answer = owner_.process_->request(files, plan, patience_s, stop_);
  Fault step = read(answer, said);
  if (step) return step;
  opened_ = said;
  fds_ = std::move(answer.fds);
  if (said.contains("untimed")) {
    untimed_ = said["untimed"];
    return read(owner_.process_->listen(kStep_s, stop_), said);
  }
  open_ = true;
  has_graph_ = said.at("graph").get<bool>();
  return {};
}

Fault Baseline::Session::prepare(size_t test_input) {
  nlohmann::json said;
  if (!owner_.process_->post({{"window", "prepare"}, {"test_input", test_input}})) return read({}, said);
  preparing_ = true;
  return {};
}

Fault Baseline::Session::await_ready() {
  if (!preparing_) return {};
  preparing_ = false;
  nlohmann::json said;
  return read(owner_.process_->listen(kStep_s, {}), said);
}

Fault Baseline::Session::time(const std::string& side, bool by_stream, timing::TimedCall& call) {
  nlohmann::json said;
  Fault step = tell({{"window", "time"}, {"side", side}, {"by_stream", by_stream}}, said);
  if (step) return step;
  call.event_ms = said.at("event_ms").get<double>();
  call.host_ms = said.at("host_ms").get<double>();
  return step;
}

Fault Baseline::Session::ask(const nlohmann::json& asked, nlohmann::json& said, const std::vector<int>& fds) {
  if (!owner_.process_->post(asked, fds)) return read({}, said);
  return read(owner_.process_->listen(kStep_s, {}), said);
}

Fault Baseline::Session::tell(const nlohmann::json& asked, nlohmann::json& said) {
  // Not given up where somebody asks to stop: a process in the middle of a step would have to start anew.
  return read(owner_.process_->tell(asked, kStep_s, {}), said);
}

Fault Baseline::Session::read(const GpuProcess::Said& answer, nlohmann::json& said) {
  said = answer.content;
  if (answer.kind == GpuProcess::Reply::Kind::kDone && !said.contains("error")) return {};
  lost_ = true;
  if (said.contains("error"))
    return Fault::infrastructure("the references' process: " + said["error"].get<std::string>());
  if (answer.kind == GpuProcess::Reply::Kind::kCancelled) return Fault::infrastructure("cancelled");
  if (answer.kind == GpuProcess::Reply::Kind::kSilent)
    return Fault::infrastructure("the references' process does not answer");
  return Fault::infrastructure("the references' process " + owner_.process_->end());
}

}  // namespace bicrl
