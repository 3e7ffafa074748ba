// `bicrl config`.
#include "launch/subcommands/subcommand.h"

namespace bicrl {
namespace {

class ConfigSubcommand : public LearnerSubcommand {
 public:
  ConfigSubcommand() : LearnerSubcommand(Config::kOptional) {}
  void add_flags(CLI::App& app) override {
    LearnerSubcommand::add_flags(app);
    app.add_flag("--reference", command_.prints_reference,
                 "print the reference of all keys as Markdown (docs/configuration.md)");
    app.add_option("--of", command_.config_kind, "what the file is for")
        ->capture_default_str()
        ->check(CLI::IsMember({"train", "eval", "generate", "verifier", "reward"}));
  }
};

const SubcommandRegistration kConfig(110, "config",
                                     "print a configuration's values and where each comes from",
                                     std::make_unique<ConfigSubcommand>());

}  // namespace
}  // namespace bicrl
