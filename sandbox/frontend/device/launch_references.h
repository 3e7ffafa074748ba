// Instances of template kernels that the host functions of a text launch, as far as their text alone shows.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/frontend/device/code_structure.h"

namespace bicrl {

class LaunchReferences {
 public:
  LaunchReferences(const TokenText& text, const CodeStructure& structure);

  // A function on one line that takes the addresses of the instances which the item launches, to stand in its
  // place;
  // "" if there is none to name. Instances whose arguments are deduced, local to the function, or parameters
  // of a template are left out.
  std::string of(const CodeItem& item) const;

 private:
  struct Callee {
    std::string name;  // with its qualifiers
    std::vector<std::string> arguments;
  };
  Callee callee_before(size_t angles, const CodeItem& item) const;
  std::vector<std::string> split_arguments(size_t open, size_t close) const;
  std::map<std::string_view, std::string_view> local_values(const CodeItem& item) const;
  // Puts local constants' values in their places.
  bool is_known(std::string& argument, const std::map<std::string_view, std::string_view>& values) const;
  void find_kernels();

  const TokenText& t_;
  const CodeStructure& structure_;
  std::map<std::string, size_t, std::less<>> required_;  // template arguments without default, by kernel
  std::set<std::string_view> declared_;                  // names outside function bodies
  std::vector<std::string> scalar_types_;                // what scalar_t can be
};

}  // namespace bicrl
