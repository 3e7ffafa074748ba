// Safetensors files: a validated reader over a memory map and an atomic, streaming writer; single files and
// folders sharded with model.safetensors.index.json. Broken files throw InputError naming file and field.
#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bicrl {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// One open file. Immutable after opening; reading from several threads is safe. The file must not be
// truncated while it is open (our own writers replace files by rename, which is safe).
class SafetensorsFile {
 public:
  // Checks the whole header: sizes, types, shapes, and that the tensors cover the file without gap or
  // overlap.
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  std::vector<std::string> names() const;  // sorted
  bool contains(const std::string& name) const;
  at::ScalarType dtype(const std::string& name) const;  // these three throw InputError on an absent name
  std::vector<int64_t> shape(const std::string& name) const;
  // A fresh tensor of its own storage.
  at::Tensor load(const std::string& name, at::Device device, at::ScalarType dtype) const;
  at::Tensor load(const std::string& name) const;  // on the CPU, as stored
  // The same without a copy: memory of the file's mapping, which it keeps alive, to be read only. A tensor
  // that the file does not align to its element is copied all the same.
  at::Tensor view(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;  // views share it
};

// Writes beside `path`, syncs, renames. Tensors may lie on any device and are copied one at a time.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

// model.safetensors, or what model.safetensors.index.json lists, converted while loading. What needs no
// conversion is a read-only view of its file.
std::map<std::string, at::Tensor> load_safetensors_folder(const std::filesystem::path& folder,
                                                          at::Device device, at::ScalarType dtype);

// One model.safetensors, or shards of at most `shard_bytes` (a larger tensor has a shard of its own) with an
// index. Removes the other form's entry file, so that no reader finds old weights.
void write_safetensors_folder(const std::filesystem::path& folder, const NamedTensors& tensors,
                              int64_t shard_bytes);

}  // namespace bicrl
