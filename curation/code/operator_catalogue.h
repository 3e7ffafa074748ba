// The operators of PyTorch that tasks are composed of: curation/runtimes/operator_catalogue.txt. Plain
// values.
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace bicrl::curation {

struct CatalogueOperator {
  std::string name;       // "torch.nn.Conv2d"
  std::string ranks;      // of its input: "4" or "1-5"
  std::string arguments;  // with placeholders, as the file's head says; may be empty
  std::string call;       // instead of the usual one; may be empty
};

// Throws InputError with file and line.
std::vector<CatalogueOperator> read_catalogue(const std::filesystem::path& file);
nlohmann::json to_json(const CatalogueOperator& row);

}  // namespace bicrl::curation
