#include "sandbox/box/process/processor_wait.h"

#include <cstdio>

#include "common/error.h"

namespace bicrl {

double processor_wait_s(int thread) {
  FILE* file = fopen(concat("/proc/", thread, "/schedstat").c_str(), "re");
  if (!file) return 0;
  unsigned long long ran_ns = 0, waited_ns = 0;
  const bool read = fscanf(file, "%llu %llu", &ran_ns, &waited_ns) == 2;
  fclose(file);
  return read ? static_cast<double>(waited_ns) * 1e-9 : 0;
}

}  // namespace bicrl
