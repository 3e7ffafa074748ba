// Index of the API that the installed headers of CUDA's runtime, PyTorch and pybind11 offer. A correct
// program may use it though the headers of the host part do not have it: then the program is not supported
// here, and does compile elsewhere.
#pragma once
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "sandbox/box/python_install.h"

namespace bicrl {

// Reads the headers (20 MB, 0.2 s) when it is first asked. Thread-safe.
class InstalledApi {
 public:
  // Folders of headers; what does not exist offers nothing.
  InstalledApi(std::filesystem::path cuda, std::filesystem::path torch);
  // Those of the packages of the boxes' Python.
  static InstalledApi find(const PythonInstall& python);

  // "cudaStreamSetAttribute", "CUtensorMap": a name of the runtime or of the driver API.
  bool has_cuda_name(std::string_view name) const;
  // A field of one of its structures.
  bool has_cuda_field(std::string_view name) const;
  // A function, type or macro of torch (at, c10), of pybind11, or of Python as their headers use it.
  bool has_torch_name(std::string_view name) const;
  bool has_tensor_member(std::string_view name) const;
  // "library_types.h": a header of either folder.
  bool has_header(const std::string& name) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Names = std::unordered_set<std::string, Hash, std::equal_to<>>;

  void read() const;

  std::filesystem::path cuda_, torch_;
  mutable std::once_flag once_;
  mutable Names cuda_names_, cuda_fields_, torch_names_, tensor_members_;
};

}  // namespace bicrl
