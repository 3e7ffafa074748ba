// `bicrl train`, and `bicrl sft`, the same run with its warm-up alone.
#include "launch/subcommands/subcommand.h"

namespace bicrl {
namespace {

class SftSubcommand : public LearnerSubcommand {
 public:
  void add_flags(CLI::App& app) override {
    LearnerSubcommand::add_flags(app);
    add_policy_flags(app);
    app.add_flag("--allow-changed-config", command_.allow_changed_config,
                 "go on with a run although its configuration has changed");
  }
};

class TrainSubcommand : public SftSubcommand {
 public:
  void add_flags(CLI::App& app) override {
    SftSubcommand::add_flags(app);
    add_key_flag(app, "--reward", "reward", "reward rule file, instead of the configuration's");
  }
};

const SubcommandRegistration kTrain(10, "train", "train a policy: warm-up, infilling stage, end-to-end stage",
                                    std::make_unique<TrainSubcommand>());
const SubcommandRegistration kSft(20, "sft", "supervised fine-tuning of a policy on task programs",
                                  std::make_unique<SftSubcommand>());

}  // namespace
}  // namespace bicrl
