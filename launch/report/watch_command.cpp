// `bicrl watch`: the page of runs on this machine's loopback interface, made anew while the runs go on.
#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>

#include "common/error.h"
#include "common/files/file_fingerprint.h"
#include "common/hash.h"
#include "launch/report/watch_server.h"
#include "launch/signals.h"
#include "launch/subcommands/subcommand.h"
#include "report/page/page.h"

namespace bicrl {
namespace {

// Of the files that change as a run goes on.
std::string version_of(const std::vector<std::string>& runs) try {
  std::string all;
  for (const std::string& run : runs)
    for (const char* file : {"run.json", "metrics.jsonl", "responses.jsonl", "summary.json", "evaluations"})
      all += file_fingerprint(std::filesystem::path(run) / file) + ";";
  return hash_hex(all);
} catch (const std::filesystem::filesystem_error&) {
  return "changing";  // a file was replaced meanwhile
}

WatchedPage page_of_runs(const std::vector<std::string>& paths) {
  // Before the files are read: what changes meanwhile is news.
  const std::string version = version_of(paths);
  return {.version = version,
          .html = report::run_page(report::read_runs(paths), {.live_path = "events?seen=" + version})};
}

class WatchSubcommand : public Subcommand {
 public:
  void add_flags(CLI::App& app) override {
    app.add_option("RUN", runs_, "run directories")->required();
    app.add_option("--port", port_, "port on 127.0.0.1 (0: any that is free)")->check(CLI::Range(0, 65535));
  }
  int run(const CommandLine&) override {
    page_of_runs(runs_);  // refuses what is no run
    install_stop_handler("");
    const WatchServer server({.page = [this] { return page_of_runs(runs_); },
                              .version = [this] { return version_of(runs_); },
                              .content_security_policy = report::content_security_policy(true)},
                             port_);
    std::cout << server.address() << std::endl;
    while (!stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return static_cast<int>(ExitCode::kInterrupted);
  }

 private:
  std::vector<std::string> runs_;
  int port_ = 0;
};

const SubcommandRegistration kWatchRegistered(86, "watch",
                                              "serve that page to this machine while a run goes on",
                                              std::make_unique<WatchSubcommand>());

}  // namespace
}  // namespace bicrl
