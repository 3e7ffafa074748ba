#include "sandbox/frontend/installed_api.h"

#include <algorithm>
#include <cctype>

#include "common/config/one_of.h"
#include "common/error.h"
#include "common/files/files.h"

namespace bicrl {
namespace {
namespace fs = std::filesystem;

constexpr size_t kMostHeaderBytes = size_t{16} << 20;
// Of CUDA: the runtime, its types, the driver API, and small floats.
constexpr const char* kCudaHeaders[] = {
    "cuda_runtime_api.h", "cuda_runtime.h",  "driver_types.h", "texture_types.h",
    "surface_types.h",    "library_types.h", "cuda.h",         "cuda_fp16.h",
    "cuda_bf16.h",        "cuda_fp8.h",      "cuda_fp6.h",     "cuda_fp4.h"};
constexpr const char* kCudaFolder = "nvidia/cu13/include";
constexpr const char* kTorchFolders[] = {"c10", "pybind11", "torch", "ATen"};
// The first holds a header for each operator, which TensorBody.h and Functions.h repeat; neither is for
// users.
constexpr const char* kInnerFolders[] = {"ATen/ops", "ATen/native"};
constexpr const char* kTensorHeaders[] = {"ATen/core/TensorBody.h", "ATen/core/TensorBase.h"};

bool is_name_character(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

struct Word {
  std::string_view text, before;  // the word before it, if only blanks are between
  char after = 0;                 // the next character that is no blank
};

// Calls visit(Word) for each word that stands in no comment.
template <class Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  std::string_view before;
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
    } else if (is_name_character(text[i])) {
      size_t end = i;
      while (end < text.size() && is_name_character(text[end])) ++end;
      const size_t next = std::min(text.find_first_not_of(" \t\r\n", end), text.size());
      const Word word{text.substr(i, end - i), before, next < text.size() ? text[next] : '\0'};
      visit(word);
      before = word.text;
      i = end;
    } else {
      if (!isspace(static_cast<unsigned char>(text[i]))) before = {};
      ++i;
    }
  }
}

// Headers of other versions may lack it.
std::string header_text(const fs::path& path) {
  try {
    return read_file(path, kMostHeaderBytes);
  } catch (const InputError&) {
    return "";
  }
}

// "cudaMalloc", "cuLaunchKernel", "CUtensorMap", "CUDA_SUCCESS", "__nv_fp4_e2m1"; not "current".
bool is_cuda_api_name(std::string_view name) {
  for (const std::string_view start : {"cuda", "cu"})
    if (name.starts_with(start) && name.size() > start.size() &&
        isupper(static_cast<unsigned char>(name[start.size()])))
      return true;
  if (name.starts_with("CUDA_") || name.starts_with("CU_") || name.starts_with("__nv_")) return true;
  return name.starts_with("CU") && name.size() > 2 && islower(static_cast<unsigned char>(name[2]));
}

// A parameter is followed by a comma, a parenthesis or its default: no such name is one of the interface.
bool declares(const Word& word) {
  return word.after == '(' || word.after == '{' ||
         is_one_of(word.before, {"class", "struct", "union", "enum", "using", "namespace", "define"}) ||
         word.text.starts_with("Py");
}

}  // namespace

InstalledApi::InstalledApi(fs::path cuda, fs::path torch)
    : cuda_(std::move(cuda)), torch_(std::move(torch)) {}

InstalledApi InstalledApi::find(const PythonInstall& python) {
  const auto below = [&](const char* inside) {
    for (const fs::path& packages : python.packages)
      if (fs::is_directory(packages / inside)) return packages / inside;
    return fs::path();
  };
  return {below(kCudaFolder), below("torch/include")};
}

bool InstalledApi::has_cuda_name(std::string_view name) const {
  read();
  return cuda_names_.contains(name);
}

bool InstalledApi::has_cuda_field(std::string_view name) const {
  read();
  return cuda_fields_.contains(name);
}

bool InstalledApi::has_torch_name(std::string_view name) const {
  read();
  return torch_names_.contains(name);
}

bool InstalledApi::has_tensor_member(std::string_view name) const {
  read();
  return tensor_members_.contains(name);
}

bool InstalledApi::has_header(const std::string& name) const {
  // Any other name would ask for a file of this machine.
  const fs::path path = fs::path(name).lexically_normal();
  if (path.is_absolute() || path.empty() || *path.begin() == "..") return false;
  std::error_code unknown;
  return std::ranges::any_of(
      std::initializer_list<fs::path>{cuda_, cuda_ / "cccl", torch_},
      [&](const fs::path& folder) { return fs::is_regular_file(folder / path, unknown); });
}

void InstalledApi::read() const {
  std::call_once(once_, [this] {
    for (const char* header : kCudaHeaders)
      for_each_word(header_text(cuda_ / header), [this](const Word& word) {
        if (is_cuda_api_name(word.text)) cuda_names_.emplace(word.text);
        if (word.after == ';' || word.after == '[') cuda_fields_.emplace(word.text);
      });
    for (const char* header : kTensorHeaders)
      for_each_word(header_text(torch_ / header), [this](const Word& word) {
        if (word.after == '(') tensor_members_.emplace(word.text);
      });
    for (const char* folder : kTorchFolders) {
      std::error_code unreadable;
      fs::recursive_directory_iterator entry(torch_ / folder, unreadable), end;
      for (; !unreadable && entry != end; entry.increment(unreadable)) {
        const fs::path inside = entry->path().lexically_relative(torch_);
        if (std::ranges::find(kInnerFolders, inside) != std::end(kInnerFolders))
          entry.disable_recursion_pending();
        if (entry->path().extension() != ".h") continue;
        for_each_word(header_text(entry->path()), [this](const Word& word) {
          if (declares(word)) torch_names_.emplace(word.text);
        });
      }
    }
  });
}

}  // namespace bicrl
