#include "sandbox/runtimes/gpu/own_size_session.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "sandbox/box/process/descriptor_passing.h"
#include "sandbox/runtimes/gpu/session_channel.h"

namespace bicrl {
namespace {

using nlohmann::json;

class OwnSizeSession {
 public:
  OwnSizeSession(gpu::Driver& driver, gpu::DeviceClock& clock, gpu::SharedPoison& poison, gpu::DeviceRun& run,
                 const Trace& trace, const OwnSizeFiles& files)
      : channel_(files.channel),
        driver_(driver),
        clock_(clock),
        poison_(poison),
        run_(run),
        trace_(trace),
        files_(files) {}

  bool serve() {
    if (const auto fault = run_.trace_run().run(inputs(files_.first))) return channel_.end(*fault);
    json opened{{"opened", true},
                {"first_repeat", trace_.repeats.empty() ? 0 : run_.trace_run().first_repeat()},
                {"repeats", trace_.repeats.size()}};
    if (const auto fault = describe(trace_.outputs, "outputs", opened)) return channel_.end(*fault);
    opened["inputs"] = places_of_inputs();
    if (!say_with_memories(opened)) return false;
    while (true) {
      const json asked = channel_.next();
      const std::string what =
          asked.is_object() ? asked.value("own", asked.value("window", "")) : std::string();
      json said{{"step", "done"}};
      std::optional<ptx::KernelFault> fault;
      if (what == "repeat")
        fault = repeat(asked.at("index").get<size_t>(), asked.at("test_input").get<size_t>(), said);
      else if (what == "again")
        fault = again(asked.at("test_input").get<size_t>(), asked.at("skip").get<bool>());
      else if (what == "clock")
        start_clock(said);
      else if (what == "prepare")
        fault = prepare(asked.at("test_input").get<size_t>());
      else if (what == "time")
        fault = time_call(*timed_, asked.at("by_stream").get<bool>(), said);
      else
        return what == "close";
      if (fault) return channel_.end(*fault);
      if (!say_with_memories(said)) return false;
    }
  }

 private:
  CallInputs inputs(size_t test_input) const { return CallInputs(files_.test_inputs.at(test_input)); }

  std::optional<ptx::KernelFault> describe(const std::vector<TraceView>& views, const char* name,
                                           json& said) const {
    said[name] = json::array();
    for (const TraceView& view : views) {
      const auto place = run_.device().shared_place(view.buffer, view.offset_bytes);
      if (!place && view.tensor.numel() > 0)
        return ptx::KernelFault{FaultClass::kUnsupported, "an output in a variable of a module", ""};
      if (place && place->offset % element_bytes(view.tensor.dtype) != 0)
        return ptx::KernelFault{FaultClass::kUnsupported, "an output that is not aligned to its elements",
                                ""};
      said[name].push_back({{"memory", place ? place->memory : 0}, {"offset", place ? place->offset : 0}});
    }
    return std::nullopt;
  }

  // Of the first call's; null where it has no use for one.
  json places_of_inputs() const {
    json places(trace_.inputs.leaves.size(), nullptr);
    for (uint32_t i = 0; i < trace_.buffers.size(); ++i) {
      const TraceBuffer& buffer = trace_.buffers[i];
      if (buffer.kind != TraceBuffer::Kind::kInput || buffer.tensors != 0) continue;
      if (const auto place = run_.device().shared_place(i, 0))
        places[buffer.source] = {{"memory", place->memory}, {"offset", place->offset}};
    }
    return places;
  }

  std::optional<ptx::KernelFault> repeat(size_t index, size_t test_input, json& said) {
    poison_.spread();
    if (auto fault = run_.trace_run().repeat(index, inputs(test_input))) return fault;
    return describe(trace_.repeats.at(index).outputs, "outputs", said);
  }

  std::optional<ptx::KernelFault> again(size_t test_input, bool skip) {
    poison_.spread();
    auto fault = run_.rerun(inputs(test_input), skip);
    // What is no launch may be under way still.
    if (!fault) driver_.finish(std::chrono::seconds(30), "fills");
    return fault;
  }

  void start_clock(json& said) {
    timed_.emplace(driver_, clock_, run_);
    if (!timed_->problem().empty()) {
      said["untimed"] = timed_->problem();
      return;
    }
    said["graph"] = timed_->has_graph();
    said["nothing_us"] = launches_of_nothing_us(clock_, /*by_stream=*/true);
  }

  std::optional<ptx::KernelFault> prepare(size_t test_input) {
    poison_.spread();
    return timed_->prepare(inputs(test_input));
  }

  // What is new of them.
  bool say_with_memories(json& said) {
    std::vector<int> descriptors;
    const auto memories = run_.device().shared_memories();
    said["memories"] = json::array();
    for (; sent_ < memories.size() && descriptors.size() < kMaxDescriptors; ++sent_) {
      said["memories"].push_back(memories[sent_]->bytes);
      descriptors.push_back(memories[sent_]->descriptor);
    }
    return channel_.say(said, descriptors);
  }

  const SessionChannel channel_;
  gpu::Driver& driver_;
  gpu::DeviceClock& clock_;
  gpu::SharedPoison& poison_;
  gpu::DeviceRun& run_;
  const Trace& trace_;
  const OwnSizeFiles& files_;
  std::optional<gpu::TimedRun> timed_;
  size_t sent_ = 0;  // memories that the other side has
};

}  // namespace

bool serve_own_size(gpu::Driver& driver, gpu::DeviceClock& clock, gpu::SharedPoison& poison,
                    gpu::DeviceRun& run, const Trace& trace, const OwnSizeFiles& files) {
  try {
    return OwnSizeSession(driver, clock, poison, run, trace, files).serve();
  } catch (const gpu::DriverError& error) {
    run.device().lose_context();
    return SessionChannel(files.channel).end(error);
  }
}

}  // namespace bicrl
