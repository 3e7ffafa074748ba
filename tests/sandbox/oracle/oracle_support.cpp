#include "tests/sandbox/oracle/oracle_support.h"

#include <cstring>

#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl::testing {

OracleOptions oracle_options(int cpu_s) {
  OracleOptions o;
  o.max_input_bytes = 8u << 20;
  o.max_output_bytes = 64u << 20;
  o.cpu_s = cpu_s;
  o.memory_bytes = 2ull << 30;
  return o;
}

const PythonInstall& python_install() {
  static const PythonInstall found = PythonInstall::find(testing::test_python());
  return found;
}

Oracle& patient_oracle() {
  static Oracle instance(box_host(), python_install(), oracle_options(600));
  return instance;
}

std::string task_code(const std::string& forward, const std::string& inputs, const std::string& init) {
  return "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
         "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n" +
         (init.empty() ? std::string() : "        " + init + "\n") + "    def forward(self, x):\n        " +
         forward + "\ndef get_inputs():\n    return " + inputs + "\ndef get_init_inputs():\n    return []\n";
}

std::vector<float> floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / 4);
  memcpy(values.data(), bytes.data(), values.size() * 4);
  return values;
}

}  // namespace bicrl::testing
