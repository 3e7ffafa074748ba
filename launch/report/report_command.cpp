// `bicrl report`: one HTML file of runs, of an evaluation or of a curated set.
#include <filesystem>
#include <iostream>

#include "common/error.h"
#include "common/files/files.h"
#include "common/files/named_file.h"
#include "launch/subcommands/subcommand.h"
#include "report/page/page.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

struct ReportCommand {
  std::vector<std::string> paths{};
  std::string output = "report.html";
};

std::string page_of(const std::vector<std::string>& paths) {
  std::error_code failure;
  const fs::path first = paths[0];
  const bool is_evaluation = fs::is_regular_file(first, failure);
  const bool is_curated = fs::exists(first / "card.json", failure);
  if ((is_evaluation || is_curated) && paths.size() > 1)
    throw InputError(
        concat(paths[1], ": an evaluation or a curated set has a page of its own; several runs share one"));
  if (is_curated) return report::curated_page(first);
  if (is_evaluation) {
    const report::EvaluationEntry evaluation = report::read_evaluation(first);
    if (evaluation.responses == 0)
      throw InputError(concat(first.string(), ": holds no evaluated response (a line with a task_id)"));
    return report::evaluation_page(evaluation);
  }
  return report::run_page(report::read_runs(paths));
}

class ReportSubcommand : public Subcommand {
 public:
  void add_flags(CLI::App& app) override {
    app.add_option("RUN", command_.paths,
                   "run directories; or one file of evaluations/; or one directory of `bicrl curate`")
        ->required();
    app.add_option("--output", command_.output, "the HTML file (report.html)");
  }
  int run(const CommandLine&) override {
    check_writable(command_.output);
    const std::string page = page_of(command_.paths);
    write_named_file(command_.output, page);
    if (!is_stream(command_.output))
      std::cout << command_.output << ": " << (page.size() + 1023) / 1024 << " KiB" << std::endl;
    return static_cast<int>(ExitCode::kOk);
  }

 private:
  ReportCommand command_;
};

const SubcommandRegistration kReportRegistered(85, "report",
                                               "write a page of a run, an evaluation or a curated set",
                                               std::make_unique<ReportSubcommand>());

}  // namespace
}  // namespace bicrl
