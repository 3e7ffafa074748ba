// `bicrl eval`.
#include "launch/subcommands/subcommand.h"

namespace bicrl {
namespace {

class EvalSubcommand : public LearnerSubcommand {
 public:
  void add_flags(CLI::App& app) override {
    LearnerSubcommand::add_flags(app);
    add_policy_flags(app);
    app.add_option("--json", command_.json_path, "write the figures to this file as well");
    add_key_flag(app, "--suite", "suite.name", "the published suite that the tasks are of: kernelbench");
    add_key_flag(app, "--level", "suite.level", "of the suite");
    add_key_flag(app, "--programs", "suite.programs",
                 "grade these instead of a policy's: a folder, or JSON lines");
  }
};

const SubcommandRegistration kEval(50, "eval",
                                   "evaluate a policy: pass@k, compile and correct rates per class of task",
                                   std::make_unique<EvalSubcommand>());

}  // namespace
}  // namespace bicrl
