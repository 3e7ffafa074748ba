#include "trainer/run/reports/model_flops.h"

#include <array>

#include "trainer/run/reports/machine_description.h"

namespace bicrl {

double training_flops(const PolicyConfig& c, bool frozen, double rows, double scored_rows, double pairs) {
  const auto layer =
      static_cast<double>(c.hidden_size) *
      static_cast<double>((2 * c.heads + 2 * c.kv_heads) * c.head_dim + 3 * c.intermediate_size);
  const double head = static_cast<double>(c.hidden_size) * static_cast<double>(c.vocab_size);
  const auto layers = static_cast<double>(c.layers);
  const double attention = 12 * pairs * static_cast<double>(c.heads * c.head_dim) * layers;
  return (frozen ? 4 : 6) * (rows * layers * layer + scored_rows * head) + attention;
}

std::optional<double> peak_bf16_flops(const std::string& gpu) {
  struct Peak {
    const char* name;  // a part of the driver's
    double flops;
  };
  // The first that fits; H100 alone is the SXM module, "NVIDIA H100 80GB HBM3".
  constexpr std::array<Peak, 6> kPeaks = {{{"H100 PCIe", 756e12},
                                           {"H100 80GB HBM3", 989.4e12},
                                           {"H200", 989.4e12},
                                           {"A100", 312e12},
                                           {"L40S", 362e12},
                                           {"L4", 121e12}}};
  for (const Peak& peak : kPeaks) {
    const size_t at = gpu.find(peak.name), end = at + std::string(peak.name).size();
    if (at != std::string::npos && (end == gpu.size() || gpu[end] == ' ' || gpu[end] == '-'))
      return peak.flops;
  }
  return std::nullopt;
}

std::string gpu_name() {
  const auto models = gpu_models();
  return models.size() == 1 ? models.begin()->first : "";
}

}  // namespace bicrl
