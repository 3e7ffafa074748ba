#include "common/config/config_keys.h"

#include <algorithm>
#include <utility>

namespace bicrl {
namespace {

thread_local ConfigKeyLog* innermost = nullptr;

}  // namespace

ConfigKeyLog::ConfigKeyLog() : outer_(std::exchange(innermost, this)) {}

ConfigKeyLog::~ConfigKeyLog() { innermost = outer_; }

bool ConfigKeyLog::is_active() { return innermost != nullptr; }

void ConfigKeyLog::record(ConfigKey key) {
  if (!innermost) return;
  std::vector<ConfigKey>& keys = innermost->keys_;
  const auto known = std::ranges::find(keys, key.path, &ConfigKey::path);
  if (known == keys.end()) {
    keys.push_back(std::move(key));
    return;
  }
  // Of two readings the stricter one holds.
  if (known->fallback.empty()) key.fallback.clear();
  if (key.range.empty() && !known->range.empty()) {
    key.type = known->type;
    key.range = known->range;
  }
  *known = std::move(key);
}

}  // namespace bicrl
