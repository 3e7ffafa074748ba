// Turns the CUDA text of a candidate (what it hands to load_inline) into C++ that g++ compiles against the
// shim headers of the host part. Pure text work, done in the front end's box: linear time, survives any
// input, runs nothing.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/frontend/cuda_program.h"
#include "verdict/fault/fault_class.h"

namespace bicrl {

// Something in the text that decides the candidate's class before any compiler runs.
struct SplitIssue {
  FaultClass fault_class;  // kLibraryCall, kUnsupported, kCompile or kExtract
  std::string reason;      // for a person, names the identifier
  int line = 0;            // in the joined text of cuda_sources, 0 if it has none
};

struct TranslationUnit {
  std::string file_name;  // "candidate.cpp", and "bindings.cpp" if cpp_sources define functions of their own
  std::string text;
};

struct SplitProgram {
  std::vector<TranslationUnit> units;
  // Most decisive first. Each is final by the default policy: there is no need to compile.
  std::vector<SplitIssue> issues;
};

// Size limits are the caller's: the text may be anything.
SplitProgram split_cuda_source(const CudaProgram& program);

}  // namespace bicrl
