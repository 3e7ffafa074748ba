#include "sandbox/verifier/cost_summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/error.h"
#include "sandbox/cost/cost_model.h"
#include "sandbox/cost/cost_report.h"
#include "sandbox/frontend/device/entry_names.h"

namespace bicrl {
namespace {

constexpr size_t kMostListed = 24;

}  // namespace

void add_resources(const std::map<std::string, KernelResources>& resources,
                   std::vector<LaunchCounters>& launches) {
  for (LaunchCounters& launch : launches)
    if (const auto known = resources.find(launch.name);
        known != resources.end() && launch.kind == LaunchCounters::Kind::kKernel)
      launch.registers_per_thread = std::max<uint64_t>(launch.registers_per_thread, known->second.registers);
}

std::string counters_text(const std::vector<LaunchCounters>& launches, const DeviceTable& device) {
  const ProgramCost cost = model_program(launches, device);
  std::vector<size_t> order(launches.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (order.size() > kMostListed) {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return cost.launches[a].total_ms > cost.launches[b].total_ms;
    });
    order.resize(kMostListed);
    std::sort(order.begin(), order.end());
  }
  nlohmann::json listed = nlohmann::json::array();
  for (const size_t i : order) listed.push_back(to_json(launches[i]));
  return nlohmann::json{
      {"launches", launches.size()}, {"listed", std::move(listed)}, {"bound_by", cost.bound_by}}
      .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string profile_text(const std::string& counters, const std::string& device) {
  const DeviceTable* table = find_device_table(device.substr(0, device.find(',')));
  if (!table || device != concat(table->name, ", tables ", kDeviceTablesVersion))
    throw InputError(concat("the program was modelled on '", device, "', whose tables are not here"));
  std::vector<LaunchCounters> launches;
  std::vector<std::string> names;
  size_t all = 0;
  try {
    const auto read = nlohmann::json::parse(counters);
    all = read.at("launches");
    for (const auto& launch : read.at("listed")) {
      launches.push_back(launch_counters_from_json(launch));
      const LaunchCounters& last = launches.back();
      names.push_back(last.name.empty() ? std::string(to_string(last.kind)) : readable_name(last.name));
    }
  } catch (const nlohmann::json::exception& error) {
    throw InputError(concat("counters: ", error.what()));
  }
  std::string text = cost_report(launches, names, *table);
  if (all > launches.size()) text = concat("the dearest ", launches.size(), " of ", all, " launches\n", text);
  return text;
}

}  // namespace bicrl
