// Safetensors files: a validated reader over a memory map and an atomic, streaming writer; single files and
// folders sharded with model.safetensors.index.json. Broken files throw InputError naming file and field.
#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/files/file_operations.h"
#include "common/hash.h"
#include "policy/files/tensor_source.h"

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
  // Elements [begin, begin + into.numel()) into a flat tensor of any device and type. The file's pages that
  // this took into memory are given back.
  void read(const std::string& name, int64_t begin, const at::Tensor& into) const;
  // Gives back the pages that a part of a view, which has been read, took into memory; it can be read again.
  void forget(const at::Tensor& part) const;
  const std::map<std::string, std::string>& metadata() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;  // views share it
};

// What transformers asks of a file's metadata.
inline const std::map<std::string, std::string> kPytorchFormat = {{"format", "pt"}};

// Writes beside `path`, syncs, renames (common/files/atomic_file.h). Tensors may lie on any device and are
// copied one at a time.
FileHash write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                           const std::map<std::string, std::string>& metadata = kPytorchFormat,
                           FileOperations& files = system_files());

inline constexpr const char* kSingleSafetensors = "model.safetensors";
inline constexpr const char* kSafetensorsIndex = "model.safetensors.index.json";

// The tensors of model.safetensors, or of the files that model.safetensors.index.json lists. Broken files
// throw as above.
class SafetensorsFolder : public TensorSource {
 public:
  explicit SafetensorsFolder(const std::filesystem::path& folder);
  std::set<std::string> files() const;  // that tensors are read from, by name
  std::vector<std::string> names() const override;
  std::vector<int64_t> shape(const std::string& name) const override;
  void read(const std::string& name, int64_t begin, const at::Tensor& into) const override;

 private:
  const SafetensorsFile& file_of(const std::string& name) const;

  std::map<std::string, SafetensorsFile> files_;  // by name in the folder
  std::map<std::string, std::string> file_by_tensor_;
};

// One model.safetensors, or shards of at most `shard_bytes` (a larger tensor has a shard of its own) with an
// index. Removes the other form's entry file, so that no reader finds old weights. `written_as` gives what is
// written for a tensor, of the same shape and type, when its turn has come; empty: the tensor itself. Returns
// the files that it wrote by name.
using WrittenAs = std::function<at::Tensor(const std::string& name, const at::Tensor& tensor)>;
std::map<std::string, FileHash> write_safetensors_folder(const std::filesystem::path& folder,
                                                         const NamedTensors& tensors, int64_t shard_bytes,
                                                         const WrittenAs& written_as = {},
                                                         FileOperations& files = system_files());

}  // namespace bicrl
