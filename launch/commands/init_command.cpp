// `bicrl init`: fresh weights of a given shape as a Hugging Face folder, the ones that a run of the same seed
// begins with. For trying a configuration out, and for measuring, where no trained weights are at hand.
#include <filesystem>
#include <iostream>

#include "launch/learner_commands.h"
#include "policy/files/checkpoint_io.h"
#include "trainer/inputs/policy_source.h"

namespace bicrl {
namespace fs = std::filesystem;

namespace {

void require_empty(const fs::path& folder) {
  std::error_code failure;
  if (fs::exists(folder, failure) && !(fs::is_directory(folder, failure) && fs::is_empty(folder, failure)))
    throw InputError(
        concat(folder.string(), ": is there already; init writes a folder that is new or empty"));
}

}  // namespace

static int run_init_command(const LearnerCommand& command) {
  PolicySource source;
  source.config_file = command.config_path;
  source.tokenizer = command.tokenizer_folder;
  source.dtype = command.dtype;
  require_empty(command.output_folder);
  const Tokenizer tokenizer = load_tokenizer(source);
  const Transformer drawn = make_policy(source, tokenizer, weights_key(command.seed), /*local_rank=*/0);
  save_policy(command.output_folder, drawn, tokenizer);
  std::cout << command.output_folder << ": " << drawn.config().parameter_count() << " parameters, "
            << source.dtype << ", drawn from seed " << command.seed << std::endl;
  return static_cast<int>(ExitCode::kOk);
}

namespace {

const LearnerCommandRegistration kInitRegistered("init", run_init_command);

}  // namespace
}  // namespace bicrl
