// Which device gets which plan, and what follows when one is lost.
#include "sandbox/verifier/spread_backend.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <latch>
#include <thread>

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

struct Script {
  std::atomic<bool> lost = false, failing = false;
  std::atomic<int> plans = 0, now = 0;
  std::function<void()> meanwhile = [] {};
};

class Scripted : public Backend {
 public:
  Scripted(std::shared_ptr<Script> script, BackendFeatures features)
      : script_(std::move(script)), features_(std::move(features)) {}
  const BackendFeatures& features() const override { return features_; }
  RunResult run(const RunPlan&, std::stop_token) override {
    RunResult result;
    work();
    if (script_->lost || script_->failing) result.fault = Fault::infrastructure("scripted");
    result.device_lost = script_->lost;
    result.run_ms = 1;
    return result;
  }
  TimingResult time(const TimingPlan&, std::stop_token) override {
    TimingResult result;
    work();
    if (script_->lost) result.end = Fault::infrastructure("scripted");
    result.device_lost = script_->lost;
    return result;
  }
  std::vector<BackendDevice> devices() const override {
    return {
        {.name = features_.present.front(), .trouble = script_->lost ? "gone" : "", .runs = script_->plans}};
  }

 private:
  void work() {
    ++script_->plans;
    ++script_->now;
    script_->meanwhile();
    --script_->now;
  }
  const std::shared_ptr<Script> script_;
  const BackendFeatures features_;
};

struct Host {
  explicit Host(size_t count, double first_pause_s = 3600, double patience_s = 0.05) {
    std::vector<SpreadBackend::Device> devices;
    for (size_t i = 0; i < count; ++i) {
      scripts.push_back(std::make_shared<Script>());
      devices.push_back(
          {std::make_unique<Scripted>(scripts[i], BackendFeatures{.name = "model",
                                                                  .present = {concat("device ", i), "alike"},
                                                                  .missing = {"alike"}}),
           [script = scripts[i]](std::stop_token) { return !script->lost; }});
    }
    backend = std::make_unique<SpreadBackend>(std::move(devices), std::vector<std::string>{"gpu 9: broken"},
                                              first_pause_s, patience_s);
  }
  std::vector<std::shared_ptr<Script>> scripts;
  std::unique_ptr<SpreadBackend> backend;
};

}  // namespace

TEST_CASE("plans go to the device with the least to do, and in turn where all are idle") {
  Host host(3);
  for (int i = 0; i < 6; ++i) CHECK_FALSE(host.backend->run({}, {}).fault.is_infrastructure());
  for (const auto& script : host.scripts) CHECK(script->plans == 2);
  // One device is at a window: what comes meanwhile goes to the others.
  std::latch begun(1), done(1);
  std::atomic<bool> is_taken = false;
  for (const auto& script : host.scripts)
    script->meanwhile = [&] {
      if (is_taken.exchange(true)) return;
      begun.count_down();
      done.wait();
    };
  std::jthread window([&] { host.backend->time({}, {}); });
  begun.wait();
  size_t at = 0;
  while (host.scripts[at]->now == 0) ++at;
  const int before = host.scripts[at]->plans;
  for (int i = 0; i < 8; ++i) host.backend->run({}, {});
  CHECK(host.scripts[at]->plans == before);
  done.count_down();
}

TEST_CASE("a lost device's work goes to the others, until it works again") {
  Host host(2, 0.01);
  host.scripts[0]->lost = true;
  for (int i = 0; i < 4; ++i) CHECK_FALSE(host.backend->run({}, {}).fault.is_infrastructure());
  CHECK_FALSE(host.backend->time({}, {}).end);
  CHECK(host.scripts[1]->plans == 5);
  CHECK(host.backend->devices()[0].trouble == "gone");
  CHECK(host.backend->devices()[1].trouble.empty());
  // It comes back without anybody's help.
  host.scripts[0]->lost = false;
  const int before = host.scripts[0]->plans;
  while (host.scripts[0]->plans == before) host.backend->run({}, {});
}

TEST_CASE("a lost device is asked once, and a failure of another kind moves nothing") {
  Host host(2);
  host.scripts[0]->lost = true;
  for (int i = 0; i < 6; ++i) host.backend->run({}, {});
  CHECK(host.scripts[0]->plans == 1);
  host.scripts[1]->failing = true;
  CHECK(host.backend->run({}, {}).fault.is_infrastructure());
  CHECK(host.scripts[1]->plans == 7);
  host.scripts[1]->failing = false;
  CHECK_FALSE(host.backend->run({}, {}).fault.is_infrastructure());
}

TEST_CASE("without a device that works everything is infrastructure, with a reason") {
  Host host(2);
  for (const auto& script : host.scripts) script->lost = true;
  CHECK(host.backend->run({}, {}).fault.reason == "scripted");
  const RunResult later = host.backend->run({}, {});
  CHECK(later.fault.is_infrastructure());
  CHECK_THAT(later.fault.reason, ContainsSubstring("none of the devices"));
  CHECK(host.backend->time({}, {}).end.is_infrastructure());
}

TEST_CASE("what comes while no device works waits for one, unless it is stopped") {
  Host host(1, 0.2, 600);
  host.scripts[0]->lost = true;
  CHECK(host.backend->run({}, {}).fault.reason == "scripted");  // it saw the loss itself
  std::stop_source stop;
  RunResult given_up, waited;
  std::jthread gives_up([&] { given_up = host.backend->run({}, stop.get_token()); });
  std::jthread waits([&] { waited = host.backend->run({}, {}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // so that it waits by then
  stop.request_stop();
  gives_up.join();
  CHECK(given_up.fault.is_infrastructure());
  CHECK(host.scripts[0]->plans == 1);
  host.scripts[0]->lost = false;
  waits.join();
  CHECK_FALSE(waited.fault.is_infrastructure());
  CHECK(host.scripts[0]->plans == 2);
}

TEST_CASE("devices of one model are reported together, and devices of several models are refused") {
  const Host host(2);
  CHECK(host.backend->features().name == "model");
  CHECK(host.backend->features().present == std::vector<std::string>{"device 0", "alike", "device 1"});
  CHECK(host.backend->features().missing == std::vector<std::string>{"alike", "gpu 9: broken"});
  std::vector<SpreadBackend::Device> mixed;
  for (const char* name : {"one model", "another model"})
    mixed.push_back(
        {std::make_unique<Scripted>(std::make_shared<Script>(), BackendFeatures{.name = name}), {}});
  CHECK_THROWS_WITH(SpreadBackend(std::move(mixed)), ContainsSubstring("of several models") &&
                                                         ContainsSubstring("one model and another model") &&
                                                         ContainsSubstring("gpu.devices"));
}

}  // namespace bicrl
