// The folder of one run: resolved configuration, metrics.jsonl, summary.json, checkpoints, logs.
//   RUN/config.yaml  RUN/metrics.jsonl  RUN/summary.json  RUN/verifier.log  RUN/checkpoints/NAME/
#pragma once
#include <filesystem>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace bicrl {

// Used by rank 0 only. Not thread-safe.
class RunDirectory {
 public:
  // Creates `wanted`, or `wanted-2`, `wanted-3`... where a run lies there already. Throws Error with the
  // reason (for instance a read-only disk).
  explicit RunDirectory(const std::filesystem::path& wanted);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoint(const std::string& name) const { return path_ / "checkpoints" / name; }
  void write(const std::string& file, const std::string& text) const;
  // Appends one line to metrics.jsonl and flushes it; a write error throws.
  void append_metrics(const nlohmann::json& record);

 private:
  std::filesystem::path path_;
  std::ofstream metrics_;
};

}  // namespace bicrl
