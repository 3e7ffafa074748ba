// The files of one request to a process of a GPU, which knows them by their numbers. Not thread-safe.
#pragma once
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "sandbox/box/process/descriptors.h"
#include "sandbox/box/scratch_folder.h"

namespace bicrl {

class JobFiles {
 public:
  size_t add(std::string_view bytes) { return add(make_memfd("gpu-job", bytes)); }
  size_t add(UniqueFd fd) {
    owned_.push_back(std::move(fd));
    numbers_.push_back(owned_.back().get());
    return numbers_.size() - 1;
  }
  size_t add(std::shared_ptr<const ScratchFile> file) {
    UniqueFd fd(open(file->path().c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) throw Error(concat("the inputs' file: ", strerror(errno)));
    return add(std::move(fd));
  }
  int descriptor(size_t number) const { return numbers_[number]; }
  const std::vector<int>& numbers() const { return numbers_; }

 private:
  std::vector<UniqueFd> owned_;
  std::vector<int> numbers_;
};

}  // namespace bicrl
