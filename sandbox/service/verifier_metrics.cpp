#include "sandbox/service/verifier_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>

#include "common/error.h"
#include "verdict/verifier_access.h"

namespace bicrl {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

const prometheus::Histogram::BucketBoundaries kStageSeconds{0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15, 60};

struct Sample {
  Labels labels;
  double value = 0;
};

MetricFamily family(MetricType type, const std::string& name, const std::string& help,
                    const std::vector<Sample>& samples) {
  MetricFamily made{.name = name, .help = help, .type = type, .metric = {}};
  for (const Sample& sample : samples) {
    ClientMetric& metric = made.metric.emplace_back();
    metric.label = sample.labels;
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = sample.value;
  }
  return made;
}

// Asked for when somebody collects.
class Present : public prometheus::Collectable {
 public:
  explicit Present(std::function<VerifierState()> look) : look_(std::move(look)) {}

  std::vector<MetricFamily> Collect() const override {
    const VerifierState now = look_();
    std::vector<MetricFamily> all;
    const auto add = [&](MetricType type, const char* name, const char* help, double value) {
      all.push_back(family(type, name, help, {{{}, value}}));
    };
    const auto as_real = [](auto value) { return static_cast<double>(value); };
    add(MetricType::Gauge, "bicrl_queue_waiting", "Candidates that wait for a worker",
        as_real(now.queue.waiting));
    add(MetricType::Gauge, "bicrl_verifications_running", "Candidates that are being verified",
        as_real(now.queue.running));
    add(MetricType::Gauge, "bicrl_workers", "Candidates that are verified at a time, at most", now.workers);
    add(MetricType::Gauge, "bicrl_draining", "1: no more requests are taken", now.queue.stopping);
    add(MetricType::Counter, "bicrl_cache_hits_total",
        "Verdicts without a verification: stored, or shared with an identical candidate",
        as_real(now.queue.cache_hits));
    add(MetricType::Counter, "bicrl_rejected_total", "Requests that found the queue full",
        as_real(now.queue.rejected));
    add(MetricType::Counter, "bicrl_cancelled_total", "Requests that were given up by whoever asked",
        as_real(now.queue.cancelled));
    add_devices(now.devices, all);
    return all;
  }

 private:
  static void add_devices(const std::vector<BackendDevice>& devices, std::vector<MetricFamily>& all) {
    if (devices.empty()) return;
    const auto add = [&](MetricType type, const char* name, const char* help, auto figure) {
      std::vector<Sample> samples;
      for (const BackendDevice& device : devices)
        samples.push_back({{{"gpu", device.name}}, static_cast<double>(figure(device))});
      all.push_back(family(type, name, help, samples));
    };
    add(MetricType::Gauge, "bicrl_gpu_up", "1: the GPU is used, 0: it is lost",
        [](const BackendDevice& d) { return d.trouble.empty() ? 1 : 0; });
    add(MetricType::Gauge, "bicrl_gpu_contexts", "Processes that hold a context on the GPU",
        [](const BackendDevice& d) { return d.contexts; });
    add(MetricType::Counter, "bicrl_gpu_plans_total", "Candidates that were run on the GPU",
        [](const BackendDevice& d) { return d.runs; });
    add(MetricType::Counter, "bicrl_gpu_windows_total", "Windows in which programs were timed",
        [](const BackendDevice& d) { return d.windows; });
    add(MetricType::Counter, "bicrl_gpu_windows_repeated_total", "Windows that were of no use",
        [](const BackendDevice& d) { return d.repeated_windows; });
    add(MetricType::Counter, "bicrl_gpu_sanitized_total", "Right programs that compute-sanitizer looked at",
        [](const BackendDevice& d) { return d.sanitized; });
    add(MetricType::Counter, "bicrl_gpu_sanitizer_findings_total", "Those in which it found something",
        [](const BackendDevice& d) { return d.sanitizer_findings; });
  }

  const std::function<VerifierState()> look_;
};

std::string outcome_label(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::kGraded:
      return verdict.correct ? "correct" : "incorrect";
    case Outcome::kCandidateFault:
      return "candidate_fault";
    case Outcome::kInvalidTask:
      return "invalid_task";
    case Outcome::kUndecided:
      return "undecided";
    case Outcome::kInfrastructure:
      return "infrastructure";
  }
  return "infrastructure";
}

}  // namespace

struct VerifierMetrics::Families {
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  std::shared_ptr<Present> present;
  prometheus::Family<prometheus::Counter>& verifications =
      prometheus::BuildCounter()
          .Name("bicrl_verifications_total")
          .Help("Candidates that were verified, by what came of them")
          .Register(*registry);
  prometheus::Family<prometheus::Histogram>& stages =
      prometheus::BuildHistogram()
          .Name("bicrl_stage_seconds")
          .Help("How long candidates wait for their turn, and are at the stages of their verification")
          .Register(*registry);
  std::unique_ptr<prometheus::Exposer> exposer{};  // last: it uses the others

  void observe(const char* stage, double seconds) {
    stages.Add({{"stage", stage}}, kStageSeconds).Observe(seconds);
  }
};

std::string metrics_problem(const std::string& address) {
  const size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos ||
      std::stoi(port) > 65535)
    return concat("'", address, "' is not HOST:PORT");
  if (is_loopback(address)) return "";
  return concat(
      address,
      " is reached from other machines, and metrics are served to whoever asks: use 127.0.0.1 and a "
      "collector on this machine");
}

VerifierMetrics::VerifierMetrics(const std::string& backend, std::function<VerifierState()> look)
    : families_(std::make_unique<Families>()) {
  families_->present = std::make_shared<Present>(std::move(look));
  prometheus::BuildGauge()
      .Name("bicrl_verifier_info")
      .Help("What verdicts depend on")
      .Register(*families_->registry)
      .Add({{"backend", backend}})
      .Set(1);
  // Known from the start: a rate over what appears later begins with a gap.
  families_->verifications.Add({{"outcome", "correct"}, {"fault_class", ""}});
  families_->verifications.Add({{"outcome", "infrastructure"}, {"fault_class", ""}});
}

VerifierMetrics::~VerifierMetrics() = default;

void VerifierMetrics::count(const Verdict& verdict, double waited_s) {
  families_->verifications.Add({{"outcome", outcome_label(verdict)}, {"fault_class", verdict.fault_class}})
      .Increment();
  families_->observe("wait", waited_s);
  const std::pair<const char*, double> stages[] = {{"compile", verdict.compile_ms},
                                                   {"record", verdict.record_ms},
                                                   {"run", verdict.run_ms},
                                                   {"all", verdict.total_ms}};
  for (const auto& [stage, ms] : stages)
    if (ms > 0) families_->observe(stage, ms * 1e-3);
}

int VerifierMetrics::serve(const std::string& address) try {
  // It takes addresses, not names.
  const bool by_name = address.starts_with("localhost:");
  families_->exposer = std::make_unique<prometheus::Exposer>(
      by_name ? "127.0.0.1" + address.substr(address.rfind(':')) : address, 1);
  families_->exposer->RegisterCollectable(families_->registry);
  families_->exposer->RegisterCollectable(families_->present);
  return families_->exposer->GetListeningPorts().at(0);
} catch (const std::exception& error) {
  throw InputError(concat("metrics_listen: cannot listen on ", address, ": ", error.what()));
}

std::string VerifierMetrics::text() const {
  std::vector<MetricFamily> all = families_->registry->Collect();
  for (MetricFamily& one : families_->present->Collect()) all.push_back(std::move(one));
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace bicrl
