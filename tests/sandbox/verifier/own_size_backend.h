// A backend whose verdicts at a task's own size are made up: pipelines that ask for them, without a GPU.
#pragma once
#include <functional>
#include <memory>

#include "sandbox/verifier/backend.h"

namespace bicrl::testing {

// Called for each program that is to be judged at its task's own size.
using MadeUpJudge = std::function<OwnSizeResult(const OwnSizePlan& plan)>;

// All else is done by `machine`.
std::unique_ptr<Backend> judging_own_sizes(std::unique_ptr<Backend> machine, MadeUpJudge judge);

}  // namespace bicrl::testing
