#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files.h"
#include "policy/safetensors.h"
#include "policy/safetensors_format.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

// A file that appears under its name only when commit() has succeeded.
class AtomicFile {
 public:
  explicit AtomicFile(const fs::path& path)
      : path_(path), temporary_(path.string() + ".tmp." + std::to_string(getpid())) {
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd_ < 0) fail("create");
  }
  ~AtomicFile() {
    if (fd_ >= 0) close(fd_);
    if (!committed_) unlink(temporary_.c_str());
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t count) {
    const char* next = static_cast<const char*>(bytes);
    while (count > 0) {
      const ssize_t n = ::write(fd_, next, count);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("write");
      next += n;
      count -= static_cast<size_t>(n);
    }
  }
  void commit() {
    if (fsync(fd_) != 0) fail("write");
    const int closed = close(fd_);
    fd_ = -1;
    if (closed != 0) fail("write");
    if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename onto");
    committed_ = true;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(concat("cannot ", what, " ", path_.string(), ": ", strerror(errno)));
  }
  fs::path path_, temporary_;
  int fd_ = -1;
  bool committed_ = false;
};

uint64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
}

std::string make_header(const NamedTensors& tensors, const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const auto type = safetensors_name(tensor.scalar_type());
    BICRL_CHECK(type.has_value(), name,
                " has an element type that safetensors lacks: ", tensor.scalar_type());
    BICRL_CHECK(name != "__metadata__" && !header.contains(name), name, " as a tensor's name");
    const uint64_t end = offset + bytes_of(tensor);
    header[name] = {{"dtype", *type}, {"shape", tensor.sizes().vec()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data begin at a multiple of 8
  return text;
}

std::string shard_name(size_t index, size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return name;
}

}  // namespace

void write_safetensors(const fs::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  // Wide elements first, so that every tensor is aligned to its own element.
  NamedTensors order = tensors;
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.element_size() > b.second.element_size();
  });
  const std::string header = make_header(order, metadata);
  unsigned char prefix[8];
  for (int i = 0; i < 8; ++i) prefix[i] = static_cast<unsigned char>(header.size() >> (8 * i));
  AtomicFile file(path);
  file.write(prefix, sizeof prefix);
  file.write(header.data(), header.size());
  for (const auto& [name, tensor] : order) {
    const at::Tensor host = tensor.detach().to(at::kCPU).contiguous();
    file.write(host.const_data_ptr(), bytes_of(host));
  }
  file.commit();
}

void write_safetensors_folder(const fs::path& folder, const NamedTensors& tensors, int64_t shard_bytes) {
  std::vector<NamedTensors> shards(1);
  uint64_t filled = 0, total = 0;
  for (const auto& item : tensors) {
    const uint64_t bytes = bytes_of(item.second);
    if (filled > 0 && filled + bytes > static_cast<uint64_t>(shard_bytes)) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(item);
    filled += bytes;
    total += bytes;
  }
  const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  if (shards.size() == 1) {
    write_safetensors(single, tensors);
    fs::remove(index);
    return;
  }
  nlohmann::json weight_map = nlohmann::json::object();
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(i, shards.size());
    write_safetensors(folder / name, shards[i]);
    for (const auto& item : shards[i]) weight_map[item.first] = name;
  }
  const nlohmann::json document = {{"metadata", {{"total_size", total}}}, {"weight_map", weight_map}};
  write_file_atomically(index, document.dump(2) + "\n");
  fs::remove(single);
}

}  // namespace bicrl
