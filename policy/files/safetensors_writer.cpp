#include <ATen/ATen.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/atomic_file.h"
#include "common/files/files.h"
#include "policy/files/safetensors.h"
#include "policy/files/safetensors_format.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

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

FileHash write_file(const fs::path& path, const NamedTensors& tensors,
                    const std::map<std::string, std::string>& metadata, const WrittenAs& written_as,
                    FileOperations& files) {
  // Wide elements first, so that every tensor is aligned to its own element.
  NamedTensors order = tensors;
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.element_size() > b.second.element_size();
  });
  const std::string header = make_header(order, metadata);
  char prefix[8];
  for (int i = 0; i < 8; ++i) prefix[i] = static_cast<char>(header.size() >> (8 * i));
  AtomicFile file(path, files);
  file.write({prefix, sizeof prefix});
  file.write(header);
  for (const auto& [name, tensor] : order) {
    const at::Tensor value = written_as ? written_as(name, tensor) : tensor;
    BICRL_CHECK(value.sizes() == tensor.sizes() && value.scalar_type() == tensor.scalar_type(), name);
    const at::Tensor host = value.detach().to(at::kCPU).contiguous();
    file.write({static_cast<const char*>(host.const_data_ptr()), bytes_of(host)});
  }
  return file.commit();
}

}  // namespace

FileHash write_safetensors(const fs::path& path, const NamedTensors& tensors,
                           const std::map<std::string, std::string>& metadata, FileOperations& files) {
  return write_file(path, tensors, metadata, {}, files);
}

std::map<std::string, FileHash> write_safetensors_folder(const fs::path& folder, const NamedTensors& tensors,
                                                         int64_t shard_bytes, const WrittenAs& written_as,
                                                         FileOperations& files) {
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
  const std::string single = "model.safetensors", index = "model.safetensors.index.json";
  std::map<std::string, FileHash> written;
  if (shards.size() == 1) {
    written[single] = write_file(folder / single, tensors, kPytorchFormat, written_as, files);
    remove_tree(folder / index, files);
    return written;
  }
  nlohmann::json weight_map = nlohmann::json::object();
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(i, shards.size());
    written[name] = write_file(folder / name, shards[i], kPytorchFormat, written_as, files);
    for (const auto& item : shards[i]) weight_map[item.first] = name;
  }
  const nlohmann::json document = {{"metadata", {{"total_size", total}}}, {"weight_map", weight_map}};
  written[index] = write_file_atomically(folder / index, document.dump(2) + "\n", files);
  remove_tree(folder / single, files);
  return written;
}

}  // namespace bicrl
