// Arguments that a program passes to load_inline, as far as they matter, and their form between processes.
// Plain values.
#pragma once
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bicrl {

struct CudaProgram {
  std::vector<std::string> cuda_sources;
  std::vector<std::string> cpp_sources;
  std::vector<std::string> functions;  // empty: the program has a PYBIND11_MODULE of its own
  std::vector<std::string> cuda_cflags = {}, cflags = {};  // extra_cuda_cflags, extra_cflags
};

// All that it consists of, under the names that messages give it.
struct ProgramTexts {
  const char* name;
  std::vector<std::string> CudaProgram::*texts;
};
inline constexpr std::array<ProgramTexts, 5> kProgramTexts = {{{"cuda_sources", &CudaProgram::cuda_sources},
                                                               {"cpp_sources", &CudaProgram::cpp_sources},
                                                               {"functions", &CudaProgram::functions},
                                                               {"cuda_cflags", &CudaProgram::cuda_cflags},
                                                               {"cflags", &CudaProgram::cflags}}};

// Lists that are missing or null are empty; throws nlohmann::json::exception at other types.
CudaProgram read_cuda_program(const nlohmann::json& message);
void write_cuda_program(const CudaProgram& program, nlohmann::json& message);

}  // namespace bicrl
