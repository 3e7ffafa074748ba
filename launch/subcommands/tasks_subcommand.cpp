// `bicrl tasks`.
#include "launch/subcommands/subcommand.h"

namespace bicrl {
namespace {

class TasksSubcommand : public LearnerSubcommand {
 public:
  void add_flags(CLI::App& app) override {
    LearnerSubcommand::add_flags(app);
    app.add_flag("--check", command_.check_tasks,
                 "run every task's reference in a box and list the tasks whose verdicts would say little");
    app.add_option("--write", command_.output_folder, "folder for a file of each split (train.json...)");
  }
};

const SubcommandRegistration kTasks(60, "tasks", "show a run's tasks, or write them in the published form",
                                    std::make_unique<TasksSubcommand>());

}  // namespace
}  // namespace bicrl
