// `bicrl init`.
#include "launch/subcommands/subcommand.h"

namespace bicrl {
namespace {

class InitSubcommand : public LearnerSubcommand {
 public:
  InitSubcommand() : LearnerSubcommand(Config::kNone) {}

  void add_flags(CLI::App& app) override {
    app.add_option("CONFIG", command_.config_path, "the policy's shape: a config.json")
        ->required()
        ->check(CLI::ExistingFile);
    app.add_option("DIR", command_.output_folder, "folder to write, new or empty")->required();
    app.add_option("--tokenizer", command_.tokenizer_folder, "folder with the tokenizer's files")->required();
    app.add_option("--seed", command_.seed, "of the weights")->capture_default_str();
    app.add_option("--dtype", command_.dtype, "of the weights")
        ->default_val("bfloat16")
        ->check(CLI::IsMember({"bfloat16", "float32"}));
  }
};

const SubcommandRegistration kInit(30, "init", "write fresh weights of a given shape as a policy's folder",
                                   std::make_unique<InitSubcommand>());

}  // namespace
}  // namespace bicrl
