// The checks of `bicrl doctor` on what a verifier on this machine needs, the last of them a real
// verification.
#pragma once
#include "launch/doctor/doctor_report.h"
#include "sandbox/verifier/pipeline.h"

namespace bicrl {

// `required`: runs verify on this machine. Where verifiers elsewhere do it, what is missing is only a limit.
void check_sandbox(const PipelineOptions& options, bool required, DoctorReport& report);

}  // namespace bicrl
