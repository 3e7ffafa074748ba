// A device of a run of a trace that keeps memory and a log of what is asked for. A launch adds one to each
// byte of the first buffer that its arguments name.
#pragma once
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sandbox/trace_run/trace_device.h"

namespace bicrl::testing {

class LoggedDevice : public TraceDevice {
 public:
  explicit LoggedDevice(const Trace& trace) : trace_(trace), memory_(trace.buffers.size()) {}

  std::vector<std::string> log;
  std::optional<Breach> breach;  // that the next look finds
  std::string& bytes(uint32_t buffer) { return memory_[buffer]; }
  std::vector<std::string> take_log() { return std::exchange(log, {}); }

  void load_modules() override { log.emplace_back("modules"); }
  std::optional<uint64_t> bind_variable(uint32_t buffer, const std::string& name) override {
    log.push_back(concat("variable ", name, " as ", buffer));
    memory_[buffer].assign(4, '\0');
    return 4;
  }
  void add_buffer(uint32_t buffer) override {
    memory_[buffer].assign(trace_.buffers[buffer].bytes, '?');
    allocated_ += memory_[buffer].size();
  }
  void place_buffers(uint32_t call) override { log.push_back(concat("buffers of call ", call)); }
  uint64_t allocated_bytes() const override { return allocated_; }
  uint64_t address(uint32_t buffer) const override { return 0x1000 * (buffer + 1); }
  void write(uint32_t buffer, uint64_t offset, std::string_view bytes) override {
    log.push_back(concat("write ", buffer));
    memory_[buffer].replace(offset, bytes.size(), bytes);
  }
  void write_input(uint32_t buffer, const CallInputs& inputs, uint64_t offset) override {
    log.push_back(concat("input ", buffer));
    memory_[buffer] = inputs.of_host.substr(offset, memory_[buffer].size());
  }
  void visit_variables(const Visitor& visit) override { visit(variables); }
  void visit(uint32_t buffer, const Visitor& visit) override { visit(memory_[buffer]); }
  const std::byte* contents(uint32_t buffer) override {
    return reinterpret_cast<const std::byte*>(memory_[buffer].data());
  }
  void store(const TraceView& view, const OutputLayout::Leaf& leaf, const ElementPlace& to) override {
    memcpy(to.data, memory_[view.buffer].data() + view.offset_bytes, leaf.bytes);
  }
  void begin(const TraceOp&) override {}
  void launch(const TraceOp& op) override {
    log.push_back("launch " + op.entry);
    for (char& byte : memory_[op.relocations.front().buffer]) ++byte;
  }
  void fill(const TraceOp& op) override {
    log.push_back(concat("fill ", op.target.buffer));
    memory_[op.target.buffer].assign(memory_[op.target.buffer].size(), op.value.front());
  }
  void copy(const TraceOp& op) override {
    log.push_back(concat("copy ", op.source.buffer, " to ", op.target.buffer));
    memory_[op.target.buffer] = memory_[op.source.buffer];
  }
  void release(uint32_t buffer) override { log.push_back(concat("free ", buffer)); }
  std::optional<Breach> find_breach() override { return std::exchange(breach, std::nullopt); }

  std::string variables;

 private:
  const Trace& trace_;
  std::vector<std::string> memory_;
  uint64_t allocated_ = 0;
};

// ---- Traces: of a program with input 0, of four bytes, that returns four bytes

inline nlohmann::json bytes_view(int buffer) {
  return {{"t", "tensor"}, {"buffer", buffer}, {"offset", 0},
          {"shape", {4}},  {"strides", {1}},   {"dtype", "uint8"}};
}
inline nlohmann::json launch_on(const std::string& entry, int buffer) {
  return {{"op", "launch"},
          {"module", 0},
          {"entry", entry},
          {"grid", {1, 1, 1}},
          {"block", {1, 1, 1}},
          {"shared", 0},
          {"shared_limit", 49152},
          {"cooperative", false},
          {"args", std::string(16, '0')},
          {"relocations", {{0, buffer, 0}}}};
}
inline nlohmann::json copy_of(int source, int target) {
  return {{"op", "copy"}, {"source", bytes_view(source)}, {"target", bytes_view(target)}};
}
inline nlohmann::json allocation() { return {{"kind", "allocation"}, {"bytes", 4}}; }
inline nlohmann::json input(int tensors = 0) {
  return {{"kind", "input"}, {"bytes", 4}, {"source", 0}, {"tensors", tensors}};
}

inline Trace trace_of(const nlohmann::json& frame) {
  const auto layout =
      input_layout(nlohmann::json::parse(R"([{"t":"tensor","shape":[4],"strides":[1],"dtype":"uint8"}])"));
  auto trace = Trace::parse(frame, {"abcd"}, layout.value());
  if (!trace) throw Error(trace.reason());
  return std::move(trace.value());
}

}  // namespace bicrl::testing
