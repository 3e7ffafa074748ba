// The keys that a configuration has. While a ConfigKeyLog lives, it records every key that is read on its
// thread: type, default, range, value, and where the value comes from. Reading declares a key
// (common/config/config.h), so the log of a document is the list of keys that the program knows.
#pragma once
#include <string>
#include <vector>

namespace bicrl {

struct ConfigKey {
  std::string path;      // "stages.0.steps"
  std::string type;      // "integer", "number", "boolean", "text", "choice", "list of texts", ...
  std::string fallback;  // the default as YAML; empty if the key is required
  std::string range;     // "at least 1", "1 to 1024", "a, b, c"; empty if every value of the type is valid
  std::string value;     // as YAML
  std::string place;     // "file:line", "command line: a.b=value", or "default"
};

class ConfigKeyLog {
 public:
  ConfigKeyLog();
  ~ConfigKeyLog();
  ConfigKeyLog(const ConfigKeyLog&) = delete;
  ConfigKeyLog& operator=(const ConfigKeyLog&) = delete;

  // In the order of their first reading. A key that was read twice is listed once, as it was read last.
  const std::vector<ConfigKey>& keys() const { return keys_; }

  // The innermost log of this thread takes the key; without one nothing happens.
  static void record(ConfigKey key);
  static bool is_active();

 private:
  ConfigKeyLog* const outer_;
  std::vector<ConfigKey> keys_;
};

}  // namespace bicrl
