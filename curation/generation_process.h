// Samples of a policy, by a process of `bicrl generate`. Not thread-safe.
#pragma once
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bicrl::curation {

// One run of it.
struct GenerationJob {
  std::filesystem::path program;        // empty: the running one
  std::filesystem::path configuration;  // of `bicrl generate`
  std::vector<std::string> overrides;
  std::filesystem::path output;  // where its responses lie in the end
  std::filesystem::path log;
};

// The responses, in the order of prompts and samples. `stop_requested` ends the process early. Throws
// Interrupted then, and Error with the last lines of the log if the process fails.
std::vector<nlohmann::json> generate_responses(const GenerationJob& job,
                                               const std::function<bool()>& stop_requested);

// Of all that responses depend on beside their prompts and the program: the configuration's text, its
// overrides, and the bytes of the files that its policy consists of, which are looked for where
// `bicrl generate` looks. Throws InputError if the configuration cannot be read.
std::string generation_basis(const std::filesystem::path& configuration,
                             const std::vector<std::string>& overrides);

// Of the bytes of a program and of its own libraries (../lib/libbicrl*).
std::string program_hash(const std::filesystem::path& program);

}  // namespace bicrl::curation
