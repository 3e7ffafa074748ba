// `bicrl curate`: runs a pipeline of steps over records (curation/record_pipeline.h).
#pragma once
#include <string>
#include <vector>

namespace bicrl {

struct CurateCommand {
  std::string config_path;
  std::vector<std::string> overrides;
  std::string only;      // a step's name or number: that one alone
  bool dry_run = false;  // print the resolved configuration and the steps, and stop
  bool list_steps = false;
};
int run_curate_command(const CurateCommand& command);

}  // namespace bicrl
