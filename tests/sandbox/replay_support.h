// Compiles, records and replays our own small CUDA programs without boxes or Python.
#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sandbox/trace.h"

namespace bicrl::testing {

// Compiles the text to `folder`/module.so; fails the running test if that fails. `declarations` is the
// text for cpp_sources, `functions` are what it exports.
std::filesystem::path compile_module(const std::filesystem::path& folder, const std::string& cuda,
                                     const std::string& declarations,
                                     const std::vector<std::string>& functions);

// What function number `index` of the module does with float tensors of the given shapes, as a trace. Runs in
// a process of its own.
Trace record_call(const std::filesystem::path& module, const std::string& function,
                  const std::vector<std::vector<int64_t>>& shapes);

struct ReplayRequest {
  std::filesystem::path module;
  const Trace* trace = nullptr;
  std::vector<std::vector<std::string>> draws;  // [draw][leaf], bytes
  uint8_t poison = 0xa5;
  std::vector<std::string> more;  // further arguments
};
struct ReplayReply {
  int code = -1;
  nlohmann::json draws;  // of the report
  std::string outputs;   // prefilled with the poison
  std::string status(size_t draw) const { return draws.at(draw).at("status"); }
  std::vector<float> floats(const Trace& trace, size_t draw, size_t leaf = 0) const;
};
ReplayReply replay(const ReplayRequest& request);

std::string bytes_of(const std::vector<float>& values);

}  // namespace bicrl::testing
