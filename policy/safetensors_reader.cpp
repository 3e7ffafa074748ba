#include <ATen/ATen.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "common/error.h"
#include "common/files.h"
#include "policy/safetensors.h"
#include "policy/safetensors_format.h"
#include "policy/safetensors_header.h"

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

std::map<std::string, at::Tensor> load_safetensors_folder(const fs::path& folder, at::Device device,
                                                          at::ScalarType dtype) {
  std::map<std::string, at::Tensor> tensors;
  const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  if (fs::exists(single)) {
    const SafetensorsFile file(single);
    for (const auto& name : file.names()) tensors[name] = file.view(name).to(device, dtype);
    return tensors;
  }
  if (!fs::exists(index))
    throw InputError(
        concat(folder.string(), ": has neither model.safetensors nor model.safetensors.index.json"));
  std::map<std::string, SafetensorsFile> shards;
  for (const auto& [tensor, shard] : parse_safetensors_index(read_file(index), index.string())) {
    const auto file = shards.try_emplace(shard, folder / shard).first;
    tensors[tensor] = file->second.view(tensor).to(device, dtype);
  }
  return tensors;
}

}  // namespace bicrl
