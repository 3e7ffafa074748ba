// Calls of host functions in device code. nvcc refuses them; NVRTC, which is configured to take every
// function for the device, does not.
#pragma once
#include <string>

namespace bicrl {

// "device code calls the host function 'f' (line 12)", "" if no such call is seen. Sees plain functions at
// namespace scope; methods and lambdas it does not judge. Linear time.
std::string host_call_in_device_code(const std::string& cuda_source);

}  // namespace bicrl
