// The kernels of a CUDA text by name: how they are called, and which name needs help to become one instance.
// One for each text; not thread-safe.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/frontend/device/token_text.h"
#include "sandbox/frontend/split/device_functions.h"
#include "sandbox/frontend/split/splitter_tokens.h"

namespace bicrl {

class KernelNames {
 public:
  explicit KernelNames(const TokenText& text) : t_(text), walk_(text) {}

  // All kernels of a text are noted before anything is asked.
  void note(const DeviceFunction& kernel);
  // A launch of `name` with so many template arguments does not say which instance it means by itself.
  bool needs_resolver(std::string_view name, size_t template_arguments) const;
  // Behind the kernel, a function template that finds the instance by the arguments of the launch.
  void add_resolver(const DeviceFunction& kernel, TextEdits& edits);
  // ", a, b": default arguments behind the `given` first; empty if there are none or they are not known.
  std::string defaults_behind(std::string_view name, size_t given) const;

 private:
  // What is known of all kernels of one name.
  struct Known {
    std::vector<std::string> parameters;  // of the template: "T", "N", "Ts..."
    std::vector<std::string> defaults;    // of the function's parameters, "" for those without
    bool variadic = false;
    bool is_template = false;
    int definitions = 0;
  };
  bool is_pasted(size_t i) const;
  std::vector<std::string> template_parameters(const DeviceFunction& f, bool& variadic) const;
  std::string parameter_name(size_t from, size_t to, bool& variadic) const;

  const TokenText& t_;
  const TokenWalk walk_;
  std::map<std::string, Known, std::less<>> known_;
  std::set<std::string> resolved_;
};

}  // namespace bicrl
