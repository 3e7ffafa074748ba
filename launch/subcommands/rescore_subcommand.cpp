// `bicrl rescore`.
#include "launch/subcommands/subcommand.h"

namespace bicrl {
namespace {

class RescoreSubcommand : public LearnerSubcommand {
 public:
  RescoreSubcommand() : LearnerSubcommand(Config::kNone) {}

  void add_flags(CLI::App& app) override {
    app.add_option("RUN", command_.config_path, "run directory")->required();
    app.add_option("--reward", command_.reward_path, "reward rule file")->required();
  }
};

const SubcommandRegistration kRescore(80, "rescore", "recompute a run's rewards from its stored verdicts",
                                      std::make_unique<RescoreSubcommand>());

}  // namespace
}  // namespace bicrl
