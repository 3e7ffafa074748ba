#include "tests/curation/pipelines.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/files/files.h"

namespace bicrl::curation {

namespace fs = std::filesystem;

std::string module_named(const std::string& first_line) {
  return first_line + "\nclass Model: pass\ndef get_inputs(): pass\ndef get_init_inputs(): pass\n";
}

void write_tasks(const fs::path& file, int count) {
  nlohmann::ordered_json tasks = nlohmann::ordered_json::array();
  for (int i = 0; i < count; ++i)
    tasks.push_back({{"idx", i}, {"level", i % 3}, {"pytorch_code", module_named(concat("# task ", i))}});
  write_file_atomically(file, tasks.dump(1));
}

std::string pipeline_of(const fs::path& folder, const std::string& steps, const std::string& directory) {
  return concat("curation: {directory: ", (folder / directory).string(), "}\nsteps:\n",
                "  - {step: load, files: [", (folder / "tasks.json").string(), "], source: toy}\n", steps);
}

void run_pipeline(const std::string& yaml, Services& services, const std::string& only) {
  const ConfigDocument document = ConfigDocument::from_text(yaml, "test.yaml");
  Pipeline pipeline(document.root(), "", services);
  document.finish();
  pipeline.run(document.resolved_yaml(), only);
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::map<std::string, std::string> outputs_of(const fs::path& directory) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file() && entry.path().filename() != "ledger.jsonl")
      found[fs::relative(entry.path(), directory).string()] = read_file(entry.path());
  return found;
}

}  // namespace bicrl::curation
