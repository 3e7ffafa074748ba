#include <ATen/ATen.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "common/error.h"
#include "common/files/files.h"
#include "policy/files/safetensors.h"
#include "policy/files/safetensors_format.h"
#include "policy/files/safetensors_header.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

class Mapping {
 public:
  explicit Mapping(const fs::path& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) throw InputError(concat("cannot read ", path.string(), ": ", strerror(errno)));
    struct stat status {};
    const bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    void* address = MAP_FAILED;
    if (regular && status.st_size > 0)
      address = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    const int code = errno;
    close(fd);
    if (!regular) throw InputError(concat("cannot read ", path.string(), ": not a regular file"));
    if (status.st_size == 0) throw InputError(concat(path.string(), ": the file is empty"));
    if (address == MAP_FAILED) throw InputError(concat("cannot map ", path.string(), ": ", strerror(code)));
    data_ = static_cast<const char*>(address);
    size_ = static_cast<uint64_t>(status.st_size);
  }
  ~Mapping() { munmap(const_cast<char*>(data_), size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::string_view bytes() const { return {data_, size_}; }
  // The pages leave this process' memory; reading them again reads the file again.
  void forget(std::string_view part) const {
    if (part.data() < data_ || part.data() + part.size() > data_ + size_) return;
    static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t begin = static_cast<uint64_t>(part.data() - data_) / page * page;
    const uint64_t end = static_cast<uint64_t>(part.data() - data_) + part.size();
    madvise(const_cast<char*>(data_) + begin, end - begin, MADV_DONTNEED);
  }

 private:
  const char* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace

struct SafetensorsFile::State {
  explicit State(const fs::path& path)
      : name(path.string()), mapping(path), header(parse_safetensors_header(mapping.bytes(), name)) {}
  const SafetensorsEntry& entry(const std::string& tensor) const {
    const auto found = header.entries.find(tensor);
    if (found == header.entries.end()) throw InputError(concat(name, ": tensor ", tensor, " is missing"));
    return found->second;
  }
  std::string_view bytes_of(const SafetensorsEntry& entry) const {
    return mapping.bytes().substr(header.data_begin + entry.begin, entry.end - entry.begin);
  }
  std::string name;
  Mapping mapping;
  SafetensorsHeader header;
};

SafetensorsFile::SafetensorsFile(const fs::path& path) : state_(std::make_shared<const State>(path)) {}
SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : state_->header.entries) names.push_back(name);
  return names;
}

bool SafetensorsFile::contains(const std::string& name) const {
  return state_->header.entries.contains(name);
}
at::ScalarType SafetensorsFile::dtype(const std::string& name) const {
  const auto type = safetensors_type(state_->entry(name).dtype);
  BICRL_CHECK(type.has_value(), name);
  return *type;
}
std::vector<int64_t> SafetensorsFile::shape(const std::string& name) const {
  return state_->entry(name).shape;
}
const std::map<std::string, std::string>& SafetensorsFile::metadata() const {
  return state_->header.metadata;
}

at::Tensor SafetensorsFile::view(const std::string& name) const {
  const SafetensorsEntry& entry = state_->entry(name);
  const std::string_view bytes = state_->bytes_of(entry);
  const at::ScalarType type = dtype(name);
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % c10::elementSize(type) == 0;
  if (!aligned || bytes.empty()) return load(name);
  return at::from_blob(
      const_cast<char*>(bytes.data()), entry.shape, [state = state_](void*) {}, type);
}

at::Tensor SafetensorsFile::load(const std::string& name) const {
  const SafetensorsEntry& entry = state_->entry(name);
  at::Tensor tensor = at::empty(entry.shape, dtype(name));
  const std::string_view bytes = state_->bytes_of(entry);
  BICRL_CHECK(tensor.nbytes() == bytes.size(), name, " has ", tensor.nbytes(), " bytes");
  if (!bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

at::Tensor SafetensorsFile::load(const std::string& name, at::Device device, at::ScalarType dtype) const {
  return load(name).to(device, dtype);
}

void SafetensorsFile::read(const std::string& name, int64_t begin, const at::Tensor& into) const {
  const SafetensorsEntry& entry = state_->entry(name);
  const at::ScalarType type = dtype(name);
  const uint64_t width = c10::elementSize(type), from = static_cast<uint64_t>(begin) * width,
                 count = static_cast<uint64_t>(into.numel()) * width;
  const std::string_view bytes = state_->bytes_of(entry);
  BICRL_CHECK(begin >= 0 && into.dim() == 1 && from <= bytes.size() && count <= bytes.size() - from, name,
              " has ", bytes.size(), " bytes, asked for are ", count, " from ", from);
  if (count == 0) return;
  const std::string_view part = bytes.substr(from, count);
  if (reinterpret_cast<uintptr_t>(part.data()) % width == 0) {
    into.copy_(at::from_blob(const_cast<char*>(part.data()), into.sizes(), type));
  } else {
    const at::Tensor aligned = at::empty(into.sizes(), type);
    std::memcpy(aligned.mutable_data_ptr(), part.data(), part.size());
    into.copy_(aligned);
  }
  state_->mapping.forget(part);
}

void SafetensorsFile::forget(const at::Tensor& part) const {
  state_->mapping.forget({static_cast<const char*>(part.const_data_ptr()), part.nbytes()});
}

SafetensorsFolder::SafetensorsFolder(const fs::path& folder) {
  const std::string single = kSingleSafetensors;
  const fs::path index = folder / kSafetensorsIndex;
  if (fs::exists(folder / single)) {
    const SafetensorsFile& file = files_.try_emplace(single, folder / single).first->second;
    for (const std::string& name : file.names()) file_by_tensor_[name] = single;
    return;
  }
  if (!fs::exists(index))
    throw InputError(
        concat(folder.string(), ": has neither model.safetensors nor model.safetensors.index.json"));
  for (const auto& [tensor, file] : parse_safetensors_index(read_file(index), index.string())) {
    files_.try_emplace(file, folder / file).first->second.shape(tensor);  // that it is there
    file_by_tensor_[tensor] = file;
  }
}

std::set<std::string> SafetensorsFolder::files() const {
  std::set<std::string> names;
  for (const auto& [name, file] : files_) names.insert(name);
  return names;
}

std::vector<std::string> SafetensorsFolder::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : file_by_tensor_) names.push_back(name);
  return names;
}

const SafetensorsFile& SafetensorsFolder::file_of(const std::string& name) const {
  const auto found = file_by_tensor_.find(name);
  if (found == file_by_tensor_.end()) throw InputError(concat("tensor ", name, " is missing"));
  return files_.at(found->second);
}

std::vector<int64_t> SafetensorsFolder::shape(const std::string& name) const {
  return file_of(name).shape(name);
}

void SafetensorsFolder::read(const std::string& name, int64_t begin, const at::Tensor& into) const {
  file_of(name).read(name, begin, into);
}

}  // namespace bicrl
