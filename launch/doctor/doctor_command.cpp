// `bicrl doctor`: whether training can run on this machine, part by part, and what to do if it cannot.
#include <iostream>

#include "common/config/config.h"
#include "common/usable_machine.h"
#include "launch/commands.h"
#include "launch/doctor/doctor_learner.h"
#include "launch/doctor/doctor_machine.h"
#include "launch/doctor/doctor_sandbox.h"
#include "launch/subcommands/subcommand.h"
#include "sandbox/service/verifier_server.h"

namespace bicrl {
namespace {

// What of a run's configuration decides what is checked.
struct RunNeeds {
  std::string directory = "runs";
  std::string device = "cpu";
  VerifierClientOptions verifiers;
  PipelineOptions pipeline;
};

RunNeeds read_needs(const DoctorCommand& command) {
  RunNeeds needs;
  const ConfigDocument document = command.config_path.empty()
                                      ? ConfigDocument::from_text("{}", "command line", command.overrides)
                                      : ConfigDocument::from_file(command.config_path, command.overrides);
  const ConfigSection root = document.root();
  needs.directory = root.section("run").text("directory", needs.directory);
  needs.device = root.section("policy").text("device", needs.device);
  needs.verifiers = VerifierClientOptions::from_config(root.section("verifier"));
  needs.pipeline = VerifierOptions::from_config(root.section("verifier").section("server")).pipeline;
  // A configuration file is read in full further on, as `bicrl train` reads it.
  if (command.config_path.empty()) document.finish();
  return needs;
}

}  // namespace

int run_doctor_command(const DoctorCommand& command) {
  DoctorReport report(command.json ? nullptr : &std::cout);
  RunNeeds needs;
  bool readable = true;
  try {
    needs = read_needs(command);
  } catch (const InputError& error) {
    // The machine can still be looked at, with what a run would have by default.
    readable = false;
    report.add(check_missing("configuration", error.what(), "correct it; the checks below use defaults"));
  }
  const LearnerModule module = check_learner(report);
  report.add(check_cpus(usable_cpus()));
  report.add(check_memory(available_memory_bytes()));
  report.add(
      check_folder("run directory", needs.directory,
                   {256ull << 20, 2048ull << 20, "make room there, or name another with run.directory"}));
  report.add(check_mpi_launcher(module.mpi_library));
  check_gpus(module, needs.device, report);
  if (readable && module.loaded && !command.config_path.empty())
    report.add(check_run_configuration(command.config_path, command.overrides));
  check_sandbox(needs.pipeline, needs.verifiers.addresses.empty(), report);
  check_verifiers(needs.verifiers, report);
  if (command.json)
    std::cout << report.to_json().dump(2) << std::endl;
  else
    report.print_conclusion();
  return static_cast<int>(report.can_train() ? ExitCode::kOk : ExitCode::kUnavailable);
}

namespace {

class DoctorSubcommand : public Subcommand {
 public:
  void add_flags(CLI::App& app) override {
    words_.add_to(app);
    app.add_flag("--json", command_.json, "print the findings as JSON");
  }
  int run(const CommandLine&) override {
    words_.take(command_);
    return run_doctor_command(command_);
  }

 private:
  ConfigArguments words_;
  DoctorCommand command_;
};

const SubcommandRegistration kDoctorRegistered(120, "doctor",
                                               "check whether training can run here, and what to do",
                                               std::make_unique<DoctorSubcommand>());

}  // namespace
}  // namespace bicrl
