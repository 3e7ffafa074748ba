// Test inputs as files, in the form that programs of boxes read, kept for the next candidate of a task.
// Thread-safe; several backends may share one.
#pragma once
#include <memory>

#include "common/error.h"
#include "common/lru_cache.h"
#include "sandbox/box/scratch_folder.h"
#include "sandbox/verifier/backend.h"

namespace bicrl {

class InputFiles {
 public:
  // `scratch` outlives this and all files.
  InputFiles(ScratchFolder& scratch, size_t cache_bytes) : scratch_(scratch), files_(cache_bytes) {}
  Result<std::shared_ptr<const ScratchFile>> file(const InputLayout& layout, const InputLeaves& test_input);

 private:
  ScratchFolder& scratch_;
  LruCache<std::shared_ptr<const ScratchFile>> files_;
};

}  // namespace bicrl
