#include "sandbox/frontend/cuda_program.h"

namespace bicrl {

CudaProgram read_cuda_program(const nlohmann::json& message) {
  CudaProgram program;
  for (const auto& [name, texts] : kProgramTexts) {
    const auto found = message.find(name);
    if (found != message.end() && !found->is_null()) program.*texts = found->get<std::vector<std::string>>();
  }
  return program;
}

void write_cuda_program(const CudaProgram& program, nlohmann::json& message) {
  for (const auto& [name, texts] : kProgramTexts) message[name] = program.*texts;
}

}  // namespace bicrl
