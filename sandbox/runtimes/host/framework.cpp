#include "runtime.h"

namespace bicrl {

void framework_call(const char* name) {
  raise_fault("framework_fallback", std::string("the C++ part calls the framework: ") + name);
}

}  // namespace bicrl
