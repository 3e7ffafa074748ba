// The worked example of the published prompts: an element-wise addition as module, scaffold and whole
// program. Immutable text.
#pragma once
#include <string>
#include <string_view>

namespace bicrl {

struct WorkedExample {
  std::string_view pytorch_code;
  std::string_view prefix;
  std::string_view middle;
  std::string_view suffix;

  std::string program() const;  // prefix + middle + suffix
};

const WorkedExample& worked_example();

}  // namespace bicrl
