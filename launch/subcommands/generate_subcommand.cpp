// `bicrl generate`.
#include "launch/subcommands/subcommand.h"

namespace bicrl {
namespace {

class GenerateSubcommand : public LearnerSubcommand {
 public:
  void add_flags(CLI::App& app) override {
    LearnerSubcommand::add_flags(app);
    add_policy_flags(app);
  }
};

const SubcommandRegistration kGenerate(40, "generate", "generate programs for tasks with a policy",
                                       std::make_unique<GenerateSubcommand>());

}  // namespace
}  // namespace bicrl
