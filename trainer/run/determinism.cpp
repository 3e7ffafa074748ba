#include "trainer/run/determinism.h"

#include <ATen/Context.h>

#include <cstdlib>

namespace bicrl {

void require_determinism() {
  // With a workspace of its own for each stream, products are the same from call to call (cuBLAS, "Results
  // reproducibility"). Whoever has set another has a reason.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  // Memory that nobody has written yet is filled otherwise, in every allocation; nothing here reads it.
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
}

}  // namespace bicrl
