#include "trainer/run/reports/machine_description.h"

#include <algorithm>
#include <fstream>

#include "common/error.h"
#include "common/usable_machine.h"

namespace bicrl {
namespace {

// The value behind "NAME : " or "NAME=" on the first line that begins so.
std::string value_in(const std::filesystem::path& file, const std::string& name, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    const size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    std::string value = line.substr(at + 1);
    std::erase(value, '"');
    const size_t begin = value.find_first_not_of(" \t"), end = value.find_last_not_of(" \t\r");
    return begin == std::string::npos ? "" : value.substr(begin, end - begin + 1);
  }
  return "";
}

// "2 x NVIDIA H100 80GB HBM3, NVIDIA L4"
std::string text_of(const std::map<std::string, int>& models) {
  std::string text;
  for (const auto& [model, count] : models)
    text += concat(text.empty() ? "" : ", ", count > 1 ? concat(count, " x ") : "", model);
  return text;
}

}  // namespace

std::map<std::string, int> gpu_models(const std::filesystem::path& root) {
  std::map<std::string, int> counts;
  std::error_code failure;
  for (const auto& gpu : std::filesystem::directory_iterator(root / "proc/driver/nvidia/gpus", failure))
    if (const std::string model = value_in(gpu.path() / "information", "Model", ':'); !model.empty())
      ++counts[model];
  return counts;
}

std::vector<std::pair<std::string, std::string>> machine_description(const std::filesystem::path& root) {
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.emplace_back(name, value);
  };
  add("processor", value_in(root / "proc/cpuinfo", "model name", ':'));
  add("usable CPUs", concat(usable_cpus()));
  add("GPUs", text_of(gpu_models(root)));
  add("memory", value_in(root / "proc/meminfo", "MemTotal", ':'));
  add("system", value_in(root / "etc/os-release", "PRETTY_NAME", '='));
  return facts;
}

}  // namespace bicrl
