#include "common/config.h"
#include "launch/commands.h"
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

}  // namespace bicrl
