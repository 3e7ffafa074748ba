#include "common/host_name.h"

#include <unistd.h>

#include <climits>

namespace bicrl {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace bicrl
