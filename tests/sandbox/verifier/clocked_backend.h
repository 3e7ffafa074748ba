// A backend of the PTX interpreter with a clock that is made up: pipelines that measure times, without a GPU.
#pragma once
#include <functional>
#include <memory>

#include "sandbox/verifier/backend.h"

namespace bicrl::testing {

// What its clock does with a plan once the program's answers on all of its test inputs have been checked.
using MadeUpTimes = std::function<void(const TimingPlan& plan, TimingResult& result)>;

std::unique_ptr<Backend> clocked(std::unique_ptr<Backend> machine, MadeUpTimes times);

}  // namespace bicrl::testing
