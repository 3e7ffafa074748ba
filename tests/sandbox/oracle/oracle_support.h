// An oracle that has patience, tasks for it, and what it answers. For its tests.
#pragma once
#include <string>
#include <vector>

#include "sandbox/oracle/oracle.h"

namespace bicrl::testing {

OracleOptions oracle_options(int cpu_s);
const PythonInstall& python_install();
// Patient, so that what goes wrong has another cause than a busy machine.
Oracle& patient_oracle();

// A task's code: `forward` computes from x, `init` is a line of the constructor.
std::string task_code(const std::string& forward, const std::string& inputs, const std::string& init = "");
std::vector<float> floats(const std::string& bytes);

}  // namespace bicrl::testing
