// Run directories for tests, written as a run writes them: steps, responses, verdicts and kept texts.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bicrl::report {

class RunWriter {
 public:
  explicit RunWriter(const std::filesystem::path& folder);

  struct Response {
    std::string task;
    double reward = 0, advantage = 0;
    std::string outcome = "correct";  // or a fault class
    double speedup = 0;
    std::string text{};
    std::string diagnostics{};
    bool is_repair = false;
    std::string prompt{};        // "prompt of TASK" if empty
    nlohmann::json denoising{};  // left out if null
  };
  // Groups of a step; the entry of metrics.jsonl has `figures` as well.
  void add_step(const std::string& phase, int64_t step, int64_t steps,
                const std::vector<std::vector<Response>>& groups,
                nlohmann::json figures = nlohmann::json::object());
  // A line of samples.jsonl, of the response at this place.
  void add_sample(const std::string& phase, int64_t step, int64_t group, int64_t sample,
                  const Response& response);
  // Of a supervised step.
  void add_warm_up(int64_t step, int64_t steps, double loss);
  void append(const std::string& file, const std::string& text) const;
  void finish() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace bicrl::report
