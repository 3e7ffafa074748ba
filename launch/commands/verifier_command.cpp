#include "common/config/config.h"
#include "launch/commands.h"
#include "launch/subcommands/subcommand.h"
#include "sandbox/service/verifier_server.h"

namespace bicrl {

int run_verifier_command(const VerifierCommand& command) {
  const ConfigDocument document = command.config_path.empty()
                                      ? ConfigDocument::from_text("{}", "command line", command.overrides)
                                      : ConfigDocument::from_file(command.config_path, command.overrides);
  VerifierOptions options;
  if (command.of_run) {
    options = VerifierOptions::from_config(document.root().section("verifier").section("server"));
    options.die_with_parent = true;
    options.drain_s = 0;  // the run that ends it waits for nothing more
  } else {
    options = VerifierOptions::from_config(document.root());
    document.finish();
  }
  return run_verifier_server(options);
}

namespace {

class VerifierSubcommand : public Subcommand {
 public:
  void add_flags(CLI::App& app) override {
    words_.add_to(app);
    app.add_flag("--of-run", command_.of_run, "CONFIG is a training run's: read only its verifier section");
  }
  int run(const CommandLine&) override {
    words_.take(command_);
    return run_verifier_command(command_);
  }

 private:
  ConfigArguments words_;
  VerifierCommand command_;
};

const SubcommandRegistration kVerifierRegistered(90, "verifier",
                                                 "run a verifier server (no LibTorch in the process)",
                                                 std::make_unique<VerifierSubcommand>());

}  // namespace
}  // namespace bicrl
