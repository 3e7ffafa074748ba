#include "sandbox/verifier/input_files.h"

namespace bicrl {

Result<std::shared_ptr<const ScratchFile>> InputFiles::file(const InputLayout& layout,
                                                            const DrawInputs& draw) {
  using Reply = Result<std::shared_ptr<const ScratchFile>>;
  if (auto known = files_.find(draw.key)) return Reply(std::move(*known));
  const auto encoded = encode_inputs(layout, {*draw.leaves});
  if (!encoded) return Reply::failure(encoded.reason());
  std::shared_ptr<const ScratchFile> file = scratch_.write(encoded.value());
  files_.insert(draw.key, file, encoded.value().size());
  return Reply(std::move(file));
}

}  // namespace bicrl
