#include "sandbox/verifier/input_files.h"

namespace bicrl {

Result<std::shared_ptr<const ScratchFile>> InputFiles::file(const InputLayout& layout,
                                                            const InputLeaves& test_input) {
  using Reply = Result<std::shared_ptr<const ScratchFile>>;
  if (auto known = files_.find(test_input.key)) return Reply(std::move(*known));
  const auto encoded = encode_inputs(layout, {*test_input.leaves});
  if (!encoded) return Reply::failure(encoded.reason());
  std::shared_ptr<const ScratchFile> file = scratch_.write(encoded.value());
  files_.insert(test_input.key, file, encoded.value().size());
  return Reply(std::move(file));
}

}  // namespace bicrl
